// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/procfs/system.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "io.h"
#include "process_errors.h"
#include "text.h"

namespace rsslag::procfs {

namespace {

constexpr const char *kMeminfo = "meminfo";
constexpr const char *kMountinfo = "mountinfo";

struct MemInfoLine {
    std::string_view key;
    std::optional<core::Kilobytes> MemInfo::*value;
};

constexpr std::array<MemInfoLine, 5> kMemInfoLines{{{"MemTotal", &MemInfo::total},
                                                    {"MemFree", &MemInfo::free},
                                                    {"MemAvailable", &MemInfo::available},
                                                    {"SwapTotal", &MemInfo::swap_total},
                                                    {"SwapFree", &MemInfo::swap_free}}};

/// The word at the front, and the space behind it, taken off.
std::string_view take_word(std::string_view &rest) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return word;
}

/// "8:17", decimal, as smaps writes it: "08:11".
std::optional<std::string> as_in_smaps(std::string_view device) {
    const std::size_t colon = device.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    if (read_number(device.substr(0, colon), major) != Fault::None) return std::nullopt;
    if (read_number(device.substr(colon + 1), minor) != Fault::None) return std::nullopt;
    return fmt::format("{:02x}:{:02x}", major, minor);
}

/// "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw": blanks in a path are escaped, so a lone dash ends
/// the optional fields.
std::optional<Mount> read_mount(std::string_view line) {
    Mount mount;
    if (read_number(take_word(line), mount.id) != Fault::None) return std::nullopt;
    take_word(line);
    auto device = as_in_smaps(take_word(line));
    if (!device) return std::nullopt;
    mount.device = *std::move(device);
    take_word(line);
    mount.where = take_word(line);
    while (!line.empty()) {
        if (take_word(line) != "-") continue;
        mount.type = take_word(line);
        mount.source = take_word(line);
        mount.options = take_word(line);
        break;
    }
    if (mount.type.empty()) return std::nullopt;
    return mount;
}

}  // namespace

core::Result<MemInfo> parse_meminfo(std::string_view text) {
    if (!ends_in_newline(text)) return cut_off(kMeminfo, text);
    MemInfo info;
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) return corrupt(kMeminfo, lines.number(), "a line without a colon");
        for (const MemInfoLine &known : kMemInfoLines) {
            if (known.key != line.substr(0, colon)) continue;
            auto &value = info.*known.value;
            if (value) return corrupt(kMeminfo, lines.number(), fmt::format("{} is there twice", known.key));
            const Fault fault = read_kilobytes(line.substr(colon + 1), value.emplace());
            if (fault != Fault::None) {
                return corrupt(kMeminfo, lines.number(), fmt::format("{} {}", known.key, words(fault)));
            }
        }
    }
    if (!info.total) return corrupt(kMeminfo, lines.number(), "the text has no MemTotal");
    return info;
}

core::Result<std::vector<Mount>> parse_mountinfo(std::string_view text) {
    if (text.empty()) return std::vector<Mount>{};
    if (!ends_in_newline(text)) return cut_off(kMountinfo, text);
    std::vector<Mount> mounts;
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
        auto mount = read_mount(line);
        if (!mount) return corrupt(kMountinfo, lines.number(), "not a mount");
        mounts.push_back(*std::move(mount));
    }
    return mounts;
}

std::optional<std::string> parse_cgroup(std::string_view text) {
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
        if (line.starts_with("0::")) return std::string(line.substr(3));
    }
    return std::nullopt;
}

core::Result<MemInfo> read_meminfo(const std::string &root) {
    const auto failed = [&root](int err) {
        if (auto nowhere = no_procfs(root)) return *std::move(nowhere);
        return core::Error{core::Kind::Io, fmt::format("cannot read /proc/meminfo: {}", std::strerror(err)), err, {}};
    };
    auto opened = open_at(AT_FDCWD, (root + "/meminfo").c_str(), O_RDONLY);
    if (const auto *error = std::get_if<Errno>(&opened)) return failed(error->value);
    auto bytes = read_to_end(std::get<Fd>(opened).get());
    if (const auto *error = std::get_if<Errno>(&bytes)) return failed(error->value);
    return parse_meminfo(std::get<std::string>(bytes));
}

}  // namespace rsslag::procfs
