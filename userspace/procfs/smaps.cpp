// SPDX-License-Identifier: BSD-2-Clause
// /proc/PID/smaps and smaps_rollup (fs/proc/task_mmu.c): a header line for each mapping, then its "Key:  value" lines.
#include <fmt/format.h>

#include <limits>
#include <utility>

#include "procfs/files.h"
#include "smaps_finder.h"
#include "text.h"

namespace rsslag::procfs {

namespace {

constexpr const char *kSmaps = "smaps";
constexpr const char *kRollup = "smaps_rollup";

/// Length of the key of a "Key: value" line, npos for a header. A header starts with two addresses, so only a "Key:"
/// line has a colon before its first space. A file name never starts a line: the kernel prints a newline in it as \012.
std::size_t key_length(std::string_view line) {
    for (std::size_t i = 0; i < line.size() && line[i] != ' '; ++i) {
        if (line[i] == ':') return i;
    }
    return std::string_view::npos;
}

bool take_char(std::string_view &rest, char expected) {
    if (!rest.starts_with(expected)) return false;
    rest.remove_prefix(1);
    return true;
}

template <class T>
bool take_hex(std::string_view &rest, T &out) {
    return take_number(rest, out, 16) == ParseError::None;
}

bool take_perms(std::string_view &rest, std::string &out) {
    constexpr std::array<std::string_view, 4> kAllowed{"r-", "w-", "x-", "sp"};
    if (rest.size() < kAllowed.size()) return false;
    for (std::size_t i = 0; i < kAllowed.size(); ++i) {
        if (kAllowed[i].find(rest[i]) == std::string_view::npos) return false;
    }
    out = rest.substr(0, kAllowed.size());
    rest.remove_prefix(kAllowed.size());
    return true;
}

bool take_device(std::string_view &rest, std::string &out) {
    std::string_view whole = rest;
    std::uint32_t number = 0;
    if (!take_hex(rest, number) || !take_char(rest, ':') || !take_hex(rest, number)) return false;
    out = whole.substr(0, whole.size() - rest.size());
    return true;
}

/// Parses "start-end perms offset major:minor inode  name". Returns what is wrong with it, or nullptr.
const char *read_header(std::string_view rest, Mapping &out) {
    if (!take_hex(rest, out.start) || !take_char(rest, '-') || !take_hex(rest, out.end) || !take_char(rest, ' ')) {
        return "neither the addresses of a mapping nor a field";
    }
    if (!take_perms(rest, out.perms) || !take_char(rest, ' ')) return "a mapping with malformed permissions";
    if (!take_hex(rest, out.offset) || !take_char(rest, ' ')) return "a mapping with a malformed offset";
    if (!take_device(rest, out.device) || !take_char(rest, ' ')) return "a mapping with a malformed device";
    if (take_number(rest, out.inode) != ParseError::None) return "a mapping with a malformed inode";
    if (!rest.empty() && rest.front() != ' ') return "a mapping with a malformed inode";
    // The kernel pads with spaces, and no name of its own starts with one. Trailing spaces are part of the name.
    std::size_t name = rest.find_first_not_of(' ');
    if (name != std::string_view::npos) out.name = rest.substr(name);
    return nullptr;
}

std::optional<core::Error> read_sum(const SmapsLine &known, std::string_view value, SmapsFields &fields,
                                    const char *file, std::size_t line) {
    auto &sum = fields.*known.sum;
    if (sum) return corrupt(file, line, fmt::format("{} appears twice", known.key));
    ParseError error = read_kilobytes(value, sum.emplace());
    if (error == ParseError::None) return std::nullopt;
    return corrupt(file, line, fmt::format("{} {}", known.key, describe(error)));
}

/// Builds the list of mappings line by line.
class SmapsReader {
  public:
    explicit SmapsReader(std::string_view text) : lines_(text) {
        constexpr std::size_t kUsualBytes = 700;  // per mapping, on 6.18
        mappings_.reserve(text.size() / kUsualBytes + 1);
    }

    core::Result<std::vector<Mapping>> read() {
        for (std::string_view line; lines_.next(line);) {
            std::size_t key = key_length(line);
            auto error = key == std::string_view::npos ? begin(line) : field(line.substr(0, key), line.substr(key + 1));
            if (error) return *std::move(error);
        }
        if (auto error = finish()) return *std::move(error);
        return std::move(mappings_);
    }

  private:
    std::optional<core::Error> refuse(std::string_view what) const { return corrupt(kSmaps, lines_.number(), what); }

    std::optional<core::Error> begin(std::string_view line) {
        Mapping mapping;
        if (const char *wrong = read_header(line, mapping); wrong != nullptr) return refuse(wrong);
        if (mapping.start >= mapping.end) return refuse("a mapping that ends before it begins");
        if (auto error = finish()) return error;
        mappings_.push_back(std::move(mapping));
        size_seen_ = flags_seen_ = false;
        return std::nullopt;
    }

    std::optional<core::Error> field(std::string_view key, std::string_view value) {
        if (mappings_.empty()) return refuse("a field before the first mapping");
        const SmapsLine *known = finder_.find(key);
        if (known == nullptr) return std::nullopt;
        Mapping &mapping = mappings_.back();
        switch (known->slot) {
            case Slot::Sum: return read_sum(*known, value, mapping.fields, kSmaps, lines_.number());
            case Slot::Size: return own(*known, size_seen_, value, mapping.size);
            case Slot::KernelPageSize: return page_size(*known, value, mapping.kernel_page_size);
            case Slot::MmuPageSize: return page_size(*known, value, mapping.mmu_page_size);
            case Slot::ThpEligible: return bare(*known, value, mapping.thp_eligible);
            case Slot::ProtectionKey: return bare(*known, value, mapping.protection_key);
            case Slot::VmFlags: return flags(value);
        }
        return std::nullopt;
    }

    std::optional<core::Error> own(const SmapsLine &known, bool &seen, std::string_view value, core::Kilobytes &out) {
        if (std::exchange(seen, true)) return refuse(fmt::format("{} appears twice", known.key));
        ParseError error = read_kilobytes(value, out);
        if (error == ParseError::None) return std::nullopt;
        return refuse(fmt::format("{} {}", known.key, describe(error)));
    }

    std::optional<core::Error> page_size(const SmapsLine &known, std::string_view value,
                                         std::optional<core::Kilobytes> &out) {
        bool seen = out.has_value();
        return own(known, seen, value, out ? *out : out.emplace());
    }

    /// A number without a unit.
    std::optional<core::Error> bare(const SmapsLine &known, std::string_view value, std::optional<std::int64_t> &out) {
        if (out) return refuse(fmt::format("{} appears twice", known.key));
        skip_blanks(value);
        std::uint32_t number = 0;
        if (ParseError error = read_number(value, number); error != ParseError::None) {
            return refuse(fmt::format("{} {}", known.key, describe(error)));
        }
        out = number;
        return std::nullopt;
    }

    std::optional<core::Error> flags(std::string_view value) {
        if (std::exchange(flags_seen_, true)) return refuse("VmFlags appears twice");
        skip_blanks(value);
        std::size_t last = value.find_last_not_of(' ');
        if (last != std::string_view::npos) mappings_.back().vm_flags = value.substr(0, last + 1);
        return std::nullopt;
    }

    /// Checks that the last mapping is complete. Every kernel since 3.8 ends a mapping with VmFlags.
    std::optional<core::Error> finish() const {
        if (mappings_.empty()) return std::nullopt;
        const Mapping &mapping = mappings_.back();
        if (!size_seen_) return refuse("the mapping above has no Size");
        if (!mapping.fields.rss) return refuse("the mapping above has no Rss");
        if (!flags_seen_) return refuse("the mapping above is cut off: it has no VmFlags");
        if (static_cast<std::uint64_t>(mapping.size.n) != (mapping.end - mapping.start) / 1024) {
            return refuse("the mapping above has a Size that differs from its address range");
        }
        return std::nullopt;
    }

    Lines lines_;
    SmapsLineFinder finder_;
    std::vector<Mapping> mappings_;
    bool size_seen_ = false, flags_seen_ = false;
};

}  // namespace

bool Mapping::has_flag(std::string_view flag) const {
    const std::string_view flags = vm_flags;
    for (std::size_t at = 0; at + 2 <= flags.size(); at += 3) {
        if (flags.substr(at, 2) == flag) return true;
    }
    return false;
}

core::Result<std::vector<Mapping>> parse_smaps(std::string_view text) {
    if (text.empty()) return std::vector<Mapping>{};
    if (!ends_in_newline(text)) return cut_off(kSmaps, text);
    return SmapsReader(text).read();
}

core::Result<std::vector<Mapping>> parse_maps(std::string_view text) {
    constexpr const char *kMaps = "maps";
    std::vector<Mapping> mappings;
    if (text.empty()) return mappings;
    if (!ends_in_newline(text)) return cut_off(kMaps, text);
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
        Mapping mapping;
        if (const char *wrong = read_header(line, mapping); wrong != nullptr)
            return corrupt(kMaps, lines.number(), wrong);
        mappings.push_back(std::move(mapping));
    }
    return mappings;
}

core::Result<Rollup> parse_smaps_rollup(std::string_view text) {
    if (!ends_in_newline(text)) return cut_off(kRollup, text);
    Lines lines(text);
    std::string_view line;
    lines.next(line);
    Mapping header;
    if (const char *wrong = read_header(line, header); wrong != nullptr) return corrupt(kRollup, 1, wrong);
    if (header.name != "[rollup]") return corrupt(kRollup, 1, "the first line is not a [rollup] header");
    // Equal if the process has unmapped everything.
    if (header.start > header.end) return corrupt(kRollup, 1, "a range that ends before it begins");

    Rollup rollup;
    SmapsLineFinder finder;
    while (lines.next(line)) {
        std::size_t key = key_length(line);
        if (key == std::string_view::npos) return corrupt(kRollup, lines.number(), "not a field");
        const SmapsLine *known = finder.find(line.substr(0, key));
        if (known == nullptr || known->slot != Slot::Sum) continue;
        if (auto error = read_sum(*known, line.substr(key + 1), rollup.sums, kRollup, lines.number())) return *error;
    }
    if (!rollup.sums.rss) return corrupt(kRollup, lines.number(), "the text ends without Rss");
    // The last line on every kernel: without it the text is incomplete.
    if (!rollup.sums.locked) return corrupt(kRollup, lines.number(), "the text is cut off: it has no Locked");
    return rollup;
}

SmapsFields sum(const std::vector<Mapping> &mappings) {
    SmapsFields total;
    for (const SmapsLine &line : kSmapsLines) {
        if (line.slot != Slot::Sum) continue;
        auto &into = total.*line.sum;
        for (const Mapping &mapping : mappings) {
            const auto &from = mapping.fields.*line.sum;
            if (!from) continue;
            if (!into) into.emplace();
            // No address space has this much memory; forged text must not cause an overflow.
            if (__builtin_add_overflow(into->n, from->n, &into->n)) into->n = std::numeric_limits<std::int64_t>::max();
        }
    }
    return total;
}

}  // namespace rsslag::procfs
