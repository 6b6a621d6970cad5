// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/system.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io.h"
#include "process_errors.h"
#include "text.h"

namespace rsslag::procfs {

namespace {

constexpr const char *kMeminfo = "meminfo";
constexpr const char *kVmstat = "vmstat";
constexpr const char *kZoneinfo = "zoneinfo";
constexpr const char *kMountinfo = "mountinfo";

struct MemInfoLine {
    std::string_view key;
    std::optional<core::Kilobytes> MemInfo::*value;
};

constexpr std::array<MemInfoLine, 30> kMemInfoLines{{{"MemTotal", &MemInfo::total},
                                                     {"MemFree", &MemInfo::free},
                                                     {"MemAvailable", &MemInfo::available},
                                                     {"SwapTotal", &MemInfo::swap_total},
                                                     {"SwapFree", &MemInfo::swap_free},
                                                     {"Buffers", &MemInfo::buffers},
                                                     {"Cached", &MemInfo::cached},
                                                     {"SwapCached", &MemInfo::swap_cached},
                                                     {"Active(anon)", &MemInfo::active_anon},
                                                     {"Inactive(anon)", &MemInfo::inactive_anon},
                                                     {"Unevictable", &MemInfo::unevictable},
                                                     {"AnonPages", &MemInfo::anon_pages},
                                                     {"Mapped", &MemInfo::mapped},
                                                     {"Shmem", &MemInfo::shmem},
                                                     {"KReclaimable", &MemInfo::kernel_reclaimable},
                                                     {"SReclaimable", &MemInfo::slab_reclaimable},
                                                     {"SUnreclaim", &MemInfo::slab_unreclaimable},
                                                     {"KernelStack", &MemInfo::kernel_stack},
                                                     {"PageTables", &MemInfo::page_tables},
                                                     {"SecPageTables", &MemInfo::sec_page_tables},
                                                     {"Bounce", &MemInfo::bounce},
                                                     {"WritebackTmp", &MemInfo::writeback_tmp},
                                                     {"VmallocUsed", &MemInfo::vmalloc_used},
                                                     {"Percpu", &MemInfo::per_cpu},
                                                     {"HardwareCorrupted", &MemInfo::hardware_corrupted},
                                                     {"Zswap", &MemInfo::zswap},
                                                     {"Hugetlb", &MemInfo::hugetlb},
                                                     {"Balloon", &MemInfo::balloon},
                                                     {"GPUActive", &MemInfo::gpu_active},
                                                     {"GPUReclaim", &MemInfo::gpu_reclaim}}};

struct VmStatLine {
    std::string_view key;
    std::optional<core::Pages> VmStat::*value;
};

constexpr std::array<VmStatLine, 4> kVmStatLines{{{"nr_zspages", &VmStat::zspages},
                                                  {"nr_balloon_pages", &VmStat::balloon_pages},
                                                  {"balloon_inflate", &VmStat::balloon_inflate},
                                                  {"balloon_deflate", &VmStat::balloon_deflate}}};

/// More pages than a 64-bit address space has (2^52) are TooLarge.
ParseError read_pages(std::string_view word, core::Pages &out) {
    std::uint64_t number = 0;
    if (const ParseError error = read_number(word, number); error != ParseError::None) return error;
    if (number >> 52U != 0) return ParseError::TooLarge;
    out.n = static_cast<std::int64_t>(number);
    return ParseError::None;
}

/// Removes the first word and the space after it, and returns the word.
std::string_view take_word(std::string_view &rest) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return word;
}

/// Converts the decimal "8:17" to the form of smaps: "08:11".
std::optional<std::string> as_in_smaps(std::string_view device) {
    const std::size_t colon = device.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    if (read_number(device.substr(0, colon), major) != ParseError::None) return std::nullopt;
    if (read_number(device.substr(colon + 1), minor) != ParseError::None) return std::nullopt;
    return fmt::format("{:02x}:{:02x}", major, minor);
}

/// "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw": blanks in a path are escaped, so a lone dash ends
/// the optional fields.
std::optional<Mount> read_mount(std::string_view line) {
    Mount mount;
    if (read_number(take_word(line), mount.id) != ParseError::None) return std::nullopt;
    if (read_number(take_word(line), mount.parent) != ParseError::None) return std::nullopt;
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
            if (value) return corrupt(kMeminfo, lines.number(), fmt::format("{} appears twice", known.key));
            const ParseError error = read_kilobytes(line.substr(colon + 1), value.emplace());
            if (error != ParseError::None) {
                return corrupt(kMeminfo, lines.number(), fmt::format("{} {}", known.key, describe(error)));
            }
        }
    }
    if (!info.total) return corrupt(kMeminfo, lines.number(), "the text has no MemTotal");
    return info;
}

core::Result<VmStat> parse_vmstat(std::string_view text) {
    if (!ends_in_newline(text)) return cut_off(kVmstat, text);
    VmStat stat;
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
        const std::string_view key = take_word(line);
        for (const VmStatLine &known : kVmStatLines) {
            if (known.key != key) continue;
            auto &value = stat.*known.value;
            if (value) return corrupt(kVmstat, lines.number(), fmt::format("{} appears twice", key));
            const ParseError error = read_pages(line, value.emplace());
            if (error != ParseError::None)
                return corrupt(kVmstat, lines.number(), fmt::format("{} {}", key, describe(error)));
        }
    }
    return stat;
}

core::Result<core::Pages> parse_zoneinfo(std::string_view text) {
    if (!ends_in_newline(text)) return cut_off(kZoneinfo, text);
    std::optional<core::Pages> sum;
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
        constexpr std::string_view kCount = "count:";
        skip_blanks(line);
        if (!line.starts_with(kCount)) continue;
        line.remove_prefix(kCount.size());
        skip_blanks(line);
        core::Pages pages;
        if (const ParseError error = read_pages(line, pages); error != ParseError::None)
            return corrupt(kZoneinfo, lines.number(), fmt::format("count {}", describe(error)));
        sum = sum.value_or(core::Pages{}) + pages;
    }
    if (!sum) return corrupt(kZoneinfo, lines.number(), "the text has no count");
    return *sum;
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

namespace {

core::Result<std::string> read_of_machine(const std::string &root, const char *name) {
    const auto failed = [&](int err) {
        if (auto nowhere = no_procfs(root)) return *std::move(nowhere);
        return core::Error{core::Kind::Io, fmt::format("cannot read /proc/{}: {}", name, std::strerror(err)), err, {}};
    };
    auto opened = open_at(AT_FDCWD, (root + "/" + name).c_str(), O_RDONLY);
    if (const auto *error = std::get_if<Errno>(&opened)) return failed(error->value);
    auto bytes = read_to_end(std::get<Fd>(opened).get());
    if (const auto *error = std::get_if<Errno>(&bytes)) return failed(error->value);
    return std::get<std::string>(std::move(bytes));
}

}  // namespace

core::Result<MemInfo> read_meminfo(const std::string &root) {
    const auto text = read_of_machine(root, kMeminfo);
    if (!text) return text.error();
    return parse_meminfo(*text);
}

core::Result<VmStat> read_vmstat(const std::string &root) {
    const auto text = read_of_machine(root, kVmstat);
    if (!text) return text.error();
    return parse_vmstat(*text);
}

core::Result<core::Pages> read_zoneinfo(const std::string &root) {
    const auto text = read_of_machine(root, kZoneinfo);
    if (!text) return text.error();
    return parse_zoneinfo(*text);
}

std::optional<std::string> read_single_line(const std::string &path) {
    auto opened = open_at(AT_FDCWD, path.c_str(), O_RDONLY);
    if (std::holds_alternative<Errno>(opened)) return std::nullopt;
    auto bytes = read_to_end(std::get<Fd>(opened).get());
    if (std::holds_alternative<Errno>(bytes)) return std::nullopt;
    const auto &text = std::get<std::string>(bytes);
    return text.substr(0, text.find('\n'));
}

std::optional<std::uint64_t> read_single_number(const std::string &path) {
    const auto line = read_single_line(path);
    std::uint64_t number = 0;
    if (!line || read_number(std::string_view(*line), number) != ParseError::None) return std::nullopt;
    return number;
}

std::optional<bool> kernel_types_name(std::string_view name, const std::string &path) {
    auto opened = open_at(AT_FDCWD, path.c_str(), O_RDONLY);
    if (std::holds_alternative<Errno>(opened)) return std::nullopt;
    // The names are stored one after the other, each ended by a NUL; the first one is empty.
    std::string needle(1, '\0');
    needle.append(name).push_back('\0');
    // Megabytes, read through a small buffer: the first touch of a page may cost more than the reading.
    std::string window;
    std::string buffer(std::size_t{64} * 1024, '\0');
    for (;;) {
        const ssize_t got =
            core::uninterrupted([&] { return read(std::get<Fd>(opened).get(), buffer.data(), buffer.size()); });
        if (got < 0) return std::nullopt;
        if (got == 0) return false;
        window.append(buffer, 0, static_cast<std::size_t>(got));
        if (window.find(needle) != std::string::npos) return true;
        window.erase(0, window.size() - std::min(window.size(), needle.size() - 1));
    }
}

}  // namespace rsslag::procfs
