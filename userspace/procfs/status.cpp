// SPDX-License-Identifier: BSD-2-Clause
// /proc/PID/status: "Key:<tab>value" lines. Kernels add, move and omit lines, so no order is assumed.
#include <fmt/format.h>

#include <array>
#include <bitset>
#include <optional>

#include "procfs/files.h"
#include "text.h"

namespace rsslag::procfs {

namespace {

struct SizeLine {
    std::string_view key;
    std::optional<core::Kilobytes> StatusFile::*member;
};
constexpr std::array<SizeLine, 4> kSizeLines{{
    {"VmSize", &StatusFile::vm_size},
    {"VmHWM", &StatusFile::vm_hwm},
    {"VmRSS", &StatusFile::vm_rss},
    {"HugetlbPages", &StatusFile::hugetlb},
}};

struct NumberLine {
    std::string_view key;
    int StatusFile::*member;
};
constexpr std::array<NumberLine, 4> kNumberLines{{
    {"Tgid", &StatusFile::tgid},
    {"Pid", &StatusFile::pid},
    {"PPid", &StatusFile::ppid},
    {"Threads", &StatusFile::threads},
}};

/// proc_task_name() escapes only newline and backslash in Name; all other bytes are raw.
bool unescape(std::string_view escaped, std::string &out) {
    for (std::size_t i = 0; i < escaped.size(); ++i) {
        if (escaped[i] != '\\') {
            out += escaped[i];
            continue;
        }
        if (++i == escaped.size()) return false;
        if (escaped[i] != 'n' && escaped[i] != '\\') return false;
        out += escaped[i] == 'n' ? '\n' : '\\';
    }
    return true;
}

/// Numbers separated by blanks, to the end of the line.
template <class T>
ParseError read_numbers(std::string_view value, std::vector<T> &out) {
    for (skip_blanks(value); !value.empty(); skip_blanks(value)) {
        T number{};
        if (ParseError error = take_number(value, number); error != ParseError::None) return error;
        if (!value.empty() && value.front() != ' ' && value.front() != '\t') return ParseError::Trailing;
        out.push_back(number);
    }
    return ParseError::None;
}

/// Takes the lines one by one and checks that each known line is well-formed and appears once.
class StatusReader {
  public:
    std::optional<core::Error> take(std::size_t line, std::string_view key, std::string_view value) {
        line_ = line;
        key_ = key;
        if (key == "Name") return take_name(value);
        if (key == "Uid") return take_uid(value);
        if (key == "NSpid") return take_ns_pids(value);
        for (std::size_t i = 0; i < kNumberLines.size(); ++i) {
            if (key == kNumberLines[i].key) return take_number_line(i, value);
        }
        for (const SizeLine &size : kSizeLines) {
            if (key == size.key) return take_size_line(status_.*size.member, value);
        }
        for (std::size_t member = 0; member < core::kMembers; ++member) {
            if (key == core::kMemberFacts[member].status_line) return take_size_line(status_.members[member], value);
        }
        return std::nullopt;
    }

    /// Checks for the lines that every kernel prints for every task. "Threads" follows the Vm lines on all kernels, so
    /// text that was cut off within them is not taken for that of a kernel with fewer lines.
    std::optional<core::Error> finish(std::size_t line) const {
        const char *missing = nullptr;
        if (!name_seen_) missing = "Name";
        if (!uid_seen_) missing = "Uid";
        for (std::size_t i = 0; i < kNumberLines.size(); ++i) {
            if (!numbers_seen_[i]) missing = kNumberLines[i].key.data();
        }
        if (missing == nullptr) return std::nullopt;
        return corrupt("status", line, fmt::format("the text ends without a {} line", missing));
    }

    StatusFile &&status() && { return std::move(status_); }

  private:
    std::optional<core::Error> refuse(const char *what) const {
        return corrupt("status", line_, fmt::format("{} {}", key_, what));
    }
    std::optional<core::Error> unless_fine(ParseError error) const {
        return error == ParseError::None ? std::nullopt : refuse(describe(error));
    }

    std::optional<core::Error> take_name(std::string_view value) {
        if (std::exchange(name_seen_, true)) return refuse("appears twice");
        // Exactly one tab: further blanks are part of the name.
        if (!value.starts_with('\t')) return refuse("has no tab before its value");
        if (!unescape(value.substr(1), status_.name)) return refuse("has an escape that the kernel does not write");
        return std::nullopt;
    }

    std::optional<core::Error> take_uid(std::string_view value) {
        if (std::exchange(uid_seen_, true)) return refuse("appears twice");
        std::vector<std::uint32_t> uids;  // real, effective, saved, file system
        if (ParseError error = read_numbers(value, uids); error != ParseError::None) return refuse(describe(error));
        if (uids.size() != 4) return refuse("does not have four numbers");
        status_.real_uid = uids[0];
        status_.effective_uid = uids[1];
        return std::nullopt;
    }

    std::optional<core::Error> take_ns_pids(std::string_view value) {
        if (std::exchange(ns_pids_seen_, true)) return refuse("appears twice");
        return unless_fine(read_numbers(value, status_.ns_pids));
    }

    std::optional<core::Error> take_number_line(std::size_t index, std::string_view value) {
        if (numbers_seen_[index]) return refuse("appears twice");
        numbers_seen_[index] = true;
        skip_blanks(value);
        return unless_fine(read_number(value, status_.*kNumberLines[index].member));
    }

    std::optional<core::Error> take_size_line(std::optional<core::Kilobytes> &size, std::string_view value) {
        if (size) return refuse("appears twice");
        return unless_fine(read_kilobytes(value, size.emplace()));
    }

    StatusFile status_;
    std::size_t line_ = 0;
    std::string_view key_;
    bool name_seen_ = false, uid_seen_ = false, ns_pids_seen_ = false;
    std::bitset<kNumberLines.size()> numbers_seen_;
};

}  // namespace

core::Result<StatusFile> parse_status(std::string_view text) {
    if (!ends_in_newline(text)) return cut_off("status", text);
    StatusReader reader;
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
        std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) return corrupt("status", lines.number(), "a line without a colon");
        auto error = reader.take(lines.number(), line.substr(0, colon), line.substr(colon + 1));
        if (error) return *std::move(error);
    }
    if (auto error = reader.finish(lines.number())) return *std::move(error);
    return std::move(reader).status();
}

}  // namespace rsslag::procfs
