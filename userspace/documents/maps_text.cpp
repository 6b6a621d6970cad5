// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/text.h"
#include "documents/maps.h"
#include "pages_text.h"
#include "text_parts.h"

namespace rsslag::documents {
namespace {

using core::Kilobytes;
using procfs::MapGroup;
using procfs::Quadrant;
using Out = std::back_insert_iterator<std::string>;

/// The column of the name of a group.
constexpr std::size_t kNameOfGroup = 79;

/// Formats sizes of one document in the user's unit.
class Sizes {
  public:
    Sizes(const core::PageSize &page_size, const TextStyle &style) : page_size_(page_size), style_(style) {}

    std::string of(Kilobytes kb) const { return column(kb, documents::amount); }
    std::string bare(Kilobytes kb) const { return column(kb, documents::column); }
    std::string bare(core::Pages pages) const { return documents::column(pages, page_size_, style_); }
    const std::string &unit() const { return style_.unit; }

  private:
    /// Only the unit `pages` rounds to whole pages; the other units are computed from kB (pages of 1,024 bytes).
    template <class Print>
    std::string column(Kilobytes kb, Print print) const {
        if (style_.unit == "pages") return print(page_size_.pages(kb), page_size_, style_);
        return print(core::Pages{kb.n}, core::PageSize{1024}, style_);
    }

    const core::PageSize &page_size_;
    const TextStyle &style_;
};

std::string shown(const std::string &raw, const TextStyle &style) {
    return raw.empty() ? "(anonymous)" : core::harmless(raw, style.utf8);
}

void append_head(Out out, const MapsDocument &document, const MappedProcess &process, const TextStyle &style) {
    fmt::format_to(out, "{} [{}]  {}{}{} mappings  Linux {}  smaps read in {} us\n",
                   core::printable(process.comm, style.utf8), process.pid, core::harmless(process.program, style.utf8),
                   process.program.empty() ? "" : "  ", core::with_thousands(process.sums.mappings), document.kernel,
                   process.walk_us);
    if (process.reading) {
        fmt::format_to(out, "{}\n\n",
                       painted(verdict_line(*process.reading, document.machine.page_size, style),
                               process.reading->verdict.verdict, style.color));
    } else {
        fmt::format_to(out, "Cannot read the exact counters: {}\n\n",
                       core::harmless(process.why_not_exact.value_or("no reason is known"), style.utf8));
    }
}

std::string cell(const std::optional<double> &value, bool percent, const Sizes &sizes) {
    if (!value) return "-";
    return percent ? fmt::format("{:.1f}", *value) : sizes.bare(Kilobytes{static_cast<std::int64_t>(*value)});
}

void append_top(Out out, const MappedProcess &process, const core::PageSize &page_size, const Sizes &sizes) {
    const bool moving = process.reading && process.reading->verdict.verdict == core::Verdict::Moving;
    fmt::format_to(out, "{:<7}{:>18}{:>18}  {:<16}{}\n", "TOP", "SAYS " + sizes.unit(), "EXACT " + sizes.unit(), "FROM",
                   "MEANING");
    for (const TopRow &row : top_rows(process, page_size)) {
        const bool counted = row.column != "VIRT" && row.column != "CODE" && row.column != "DATA";
        const std::string exact = cell(row.exact, row.percent, sizes);
        fmt::format_to(out, "{:<7}{}{}  {:<16}{}\n", row.column, right(cell(row.shown, row.percent, sizes), 18),
                       right((moving && counted && row.exact ? "~ " : "") + exact, 18),
                       fmt::format("{} {}", row.file, row.field), row.note);
    }
}

std::string_view title(Quadrant quadrant) {
    switch (quadrant) {
        case Quadrant::PrivateAnonymous: return "private anonymous";
        case Quadrant::PrivateFile: return "private file-backed";
        case Quadrant::SharedAnonymous: return "shared anonymous";
        case Quadrant::SharedFile: return "shared file-backed";
        case Quadrant::Kernel: return "the kernel's own";
        case Quadrant::Hugetlb: return "hugetlb";
    }
    return "";
}

void append_check(Out out, const MappedProcess &process, const core::PageSize &page_size, const Sizes &sizes) {
    const auto checks = member_checks(process, page_size);
    if (checks.empty()) return;
    const std::string_view mark = process.reading->verdict.verdict == core::Verdict::Moving ? "~ " : "";
    std::string exact;
    std::string difference;
    bool differs = false;
    for (const MemberCheck &check : checks) {
        exact += right(std::string(mark) + sizes.bare(check.exact), 13);
        difference += right(sizes.bare(check.difference), 13);
        differs = differs || check.difference.n != 0;
    }
    fmt::format_to(out, "{:<21}{:>18}{}{}\n", "exact counters", "",
                   right(std::string(mark) + sizes.bare(process.reading->verdict.exact.rss()), 13), exact);
    if (differs) fmt::format_to(out, "{:<21}{:>18}{:>13}{}\n", "difference", "", "", difference);
}

void append_quadrants(Out out, const MappedProcess &process, const core::PageSize &page_size, const Sizes &sizes,
                      const TextStyle &style) {
    fmt::format_to(out, "\n{:<21}{:>18}{:>13}{:>13}{:>13}{:>13}\n", "QUADRANT", "VIRTUAL " + sizes.unit(), "RESIDENT",
                   "anon", "file", "shmem");
    const auto row = [&](std::string_view name, const procfs::QuadrantSum &sum) {
        fmt::format_to(out, "{:<21}{}{}{}{}{}\n", name, right(sizes.bare(sum.size), 18),
                       right(sizes.bare(sum.resident), 13), right(sizes.bare(sum.anon), 13),
                       right(sizes.bare(sum.file), 13), right(sizes.bare(sum.shmem), 13));
    };
    for (const Quadrant quadrant : procfs::kQuadrants) {
        const bool of_four = quadrant <= Quadrant::SharedFile;
        if (of_four || process.quadrants[quadrant].mappings > 0) row(title(quadrant), process.quadrants[quadrant]);
    }
    row("sum", process.quadrants.total());
    append_check(out, process, page_size, sizes);
    for (const procfs::Unplaced &unplaced : process.quadrants.unplaced) {
        fmt::format_to(out, "{} of {} at {:x} is file or shmem: no mount of its file system is visible here\n",
                       sizes.of(unplaced.resident), shown(unplaced.name, style), unplaced.start);
    }
}

void append_sums(Out out, const MappedProcess &process, const Sizes &sizes) {
    const procfs::MapSums &sums = process.sums;
    const auto text_row = [&](std::string_view name, std::string_view size, std::string_view note) {
        fmt::format_to(out, "{:<19}{}{}{}\n", name, right(std::string(size), 16), note.empty() ? "" : "  ", note);
    };
    const auto row = [&](std::string_view name, Kilobytes kb, std::string_view note = "") {
        text_row(name, sizes.bare(kb), note);
    };
    fmt::format_to(out, "\n{:<17}{:>18}\n", "SMAPS", sizes.unit());
    row("VmSize", sums.size);
    row("Rss", sums.rss);
    row("  shared", sums.shared_total(), "mapped more than once");
    row("  private clean", sums.private_clean);
    row("  private dirty", sums.private_dirty);
    if (sums.lazy_free.n > 0) {
        row("LazyFree", sums.lazy_free, "released by MADV_FREE: in Rss until reclaimed; a write keeps the page");
    }
    if (sums.hugetlb.n > 0) {
        row("hugetlb", sums.hugetlb,
            fmt::format("not in Rss: private {}, shared {}", sizes.of(sums.private_hugetlb),
                        sizes.of(sums.shared_hugetlb)));
    }
    row("Pss", sums.pss, "its share of what is shared, and all that is private");
    row("Swap", sums.swap);
    if (sums.droppable_each_once) {
        row("droppable, at most", sums.droppable, "what reclaim can take without a write, each page once");
    } else {
        text_row("droppable, at most",
                 fmt::format("{}-{}", sizes.bare(sums.droppable_surely_once), sizes.bare(sums.droppable)),
                 "what reclaim can take without a write; pages that two paths show may be the same");
    }
    if (sums.droppable_anon.n > 0) {
        row("  of files", sums.droppable_file, "clean, and locked by no mapping here");
        row("  anonymous", sums.droppable_anon, "released by MADV_FREE, or of MAP_DROPPABLE");
    }
}

/// Below a row, at the column of its name.
void append_stack(Out out, const MappedProcess &process, const std::vector<std::optional<memory::TopStack>> &tops,
                  std::size_t row, std::size_t column, const TextStyle &style) {
    if (row < tops.size() && tops[row])
        fmt::format_to(out, "{:>{}}{}\n", "", column,
                       core::printable(memory::most_by(*process.stacks, *tops[row]), style.utf8));
}

void append_group(Out out, const MapGroup &group, const Sizes &sizes, const TextStyle &style) {
    // Bold: pages of a file that a process has written are private to it.
    const bool stands_out = group.written_file && group.dirty.n > 0;
    fmt::format_to(out, "{}{}{}{}{}{}  {} {} {}{}\n", stands_out && style.color ? "\x1b[1m" : "",
                   right(sizes.bare(group.size), 18), right(sizes.bare(group.rss), 13),
                   right(sizes.bare(group.pss), 13), right(sizes.bare(group.clean), 13),
                   right(sizes.bare(group.dirty), 13), group.perms, stands_out ? "W" : " ", shown(group.name, style),
                   stands_out && style.color ? "\x1b[0m" : "");
}

void append_groups_of_kind(Out out, const MappedProcess &process, bool shared, std::size_t most, const Sizes &sizes,
                           const TextStyle &style) {
    MapGroup rest;
    std::size_t rows = 0;
    std::size_t more = 0;
    for (const MapGroup &group : process.groups) {
        if (group.shared != shared) continue;
        if (rows++ < most) {
            append_group(out, group, sizes, style);
            if (process.stacks)
                append_stack(out, process, process.stacks->groups,
                             static_cast<std::size_t>(&group - process.groups.data()), kNameOfGroup, style);
            continue;
        }
        ++more;
        rest.rss += group.rss;
    }
    if (rows == 0) fmt::format_to(out, "{:>18}\n", "none");
    if (more > 0) {
        fmt::format_to(out, "{:>18} {} more with {} resident (--all lists them)\n", style.utf8 ? "\u22ee" : ":", more,
                       sizes.of(rest.rss));
    }
}

void append_groups(Out out, const MappedProcess &process, std::size_t most, const Sizes &sizes,
                   const TextStyle &style) {
    for (const bool shared : {false, true}) {
        fmt::format_to(out, "\n{} MAPPINGS\n{:>18}{:>13}{:>13}{:>13}{:>13}  MODE   NAME\n",
                       shared ? "SHARED" : "PRIVATE", "SIZE " + sizes.unit(), "RSS", "PSS", "CLEAN", "DIRTY");
        append_groups_of_kind(out, process, shared, most, sizes, style);
    }
    Kilobytes written;
    std::size_t files = 0;
    for (const MapGroup &group : process.groups) {
        if (!group.written_file || group.dirty.n == 0) continue;
        written += group.dirty;
        ++files;
    }
    if (files > 0) {
        fmt::format_to(out, "\nW: {} is dirty in writable segments of {} file{}\n", sizes.of(written), files,
                       files == 1 ? "" : "s");
    }
}

std::vector<const procfs::SmapsLine *> columns_or_usual(const MapsChoices &choices) {
    if (!choices.columns.empty()) return choices.columns;
    std::vector<const procfs::SmapsLine *> usual;
    for (const procfs::SmapsLine &line : procfs::kSmapsLines) {
        for (const std::string_view key : {"Size", "Rss", "Pss", "Shared_Clean", "Shared_Dirty", "Private_Clean",
                                           "Private_Dirty", "Anonymous", "Swap"}) {
            if (line.key == key) usual.push_back(&line);
        }
    }
    return usual;
}

/// Always in kB as in smaps, whatever the unit.
void append_each(Out out, const MappedProcess &process, const MapsChoices &choices, const TextStyle &style) {
    const auto columns = columns_or_usual(choices);
    const auto width = [](const procfs::SmapsLine &line) {
        return line.slot == procfs::Slot::VmFlags ? std::size_t{40} : std::max<std::size_t>(line.key.size() + 2, 10);
    };
    fmt::format_to(out, "\n{:<33} MODE", "EACH MAPPING, kB");
    std::size_t width_of_head = 38;
    for (const procfs::SmapsLine *line : columns) {
        fmt::format_to(out, "{:>{}}", line->key, width(*line));
        width_of_head += width(*line);
    }
    fmt::format_to(out, "  NAME\n");
    for (const procfs::Mapping &mapping : process.mappings) {
        fmt::format_to(out, "{:016x}-{:016x} {}", mapping.start, mapping.end, mapping.perms);
        for (const procfs::SmapsLine *line : columns) {
            const auto number = procfs::number(mapping, *line);
            const std::string text = line->slot == procfs::Slot::VmFlags ? mapping.vm_flags
                                     : number                            ? core::with_thousands(*number)
                                                                         : "-";
            fmt::format_to(out, "{:>{}}", text, width(*line));
        }
        fmt::format_to(out, "  {}\n", shown(mapping.name, style));
        if (process.stacks)
            append_stack(out, process, process.stacks->mappings,
                         static_cast<std::size_t>(&mapping - process.mappings.data()), width_of_head + 2, style);
    }
}

/// What the shares of the top stacks are parts of.
void append_source_of_stacks(Out out, const MappedProcess &process, const TextStyle &style) {
    if (process.why_no_stacks)
        fmt::format_to(out, "\nNo stacks: {}\n", core::harmless(*process.why_no_stacks, style.utf8));
    if (!process.stacks) return;
    const memory::SampledRecording &recording = *process.stacks->recording;
    const std::string lost =
        recording.lost > 0 ? fmt::format("; {} more were lost", core::with_thousands(recording.lost)) : "";
    fmt::format_to(
        out, "\nStacks: of {} sampled pages that are resident, one in {}{}. {} has nothing that came after {}{}.\n",
        core::with_thousands(process.stacks->resident.size()), recording.period, lost,
        core::printable(recording.file, style.utf8), core::utc_time(recording.end),
        recording.complete ? "" : ", and lacks records");
}

}  // namespace

std::string maps_text(const MapsDocument &document, const MappedProcess &process, const MapsChoices &choices,
                      const TextStyle &style) {
    const core::PageSize &page_size = document.machine.page_size;
    const Sizes sizes(page_size, style);
    std::string text;
    const Out out = std::back_inserter(text);
    append_head(out, document, process, style);
    append_top(out, process, page_size, sizes);
    append_quadrants(out, process, page_size, sizes, style);
    append_sums(out, process, sizes);
    if (process.since) text += "\n" + changes_text(process, style);
    if (const std::string holding = assertions_text(process, style, true); !holding.empty()) text += "\n" + holding;
    if (process.pages) text += pages_text(*process.pages, style);
    if (process.elf) text += elf_text(*process.elf, style);
    if (process.pages || process.elf) return text;
    if (choices.each) {
        append_each(out, process, choices, style);
    } else {
        append_groups(out, process, choices.groups, sizes, style);
    }
    append_source_of_stacks(out, process, style);
    return text;
}

}  // namespace rsslag::documents
