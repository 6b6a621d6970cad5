// SPDX-License-Identifier: BSD-2-Clause
#include "memory/page_counter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "procfs/memory_map.h"
#include "procfs/pagemap.h"

namespace rsslag::memory {
namespace {

using Clock = std::chrono::steady_clock;
using core::Kilobytes;

/// A progress bar on stderr, redrawn in place; not drawn if stderr is not a terminal or the work is short.
class Progress {
  public:
    explicit Progress(core::Pages whole) : whole_(std::max<std::int64_t>(whole.n, 1)) {}
    ~Progress() {
        if (drawn_) write("\r\x1b[K");
    }
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    void show(std::uint64_t done) {
        constexpr std::chrono::milliseconds kPatience{500};
        constexpr std::chrono::milliseconds kBetween{100};
        constexpr std::int64_t kWidth = 40;
        const auto now = Clock::now();
        if (isatty(STDERR_FILENO) != 1 || now - begin_ < kPatience || (drawn_ && now - last_ < kBetween)) return;
        last_ = now;
        drawn_ = true;
        const std::int64_t part = std::min(static_cast<std::int64_t>(done), whole_);
        write(fmt::format("\rpages [{:<{}}] {:>3} %",
                          std::string(static_cast<std::size_t>(part * kWidth / whole_), '#'), kWidth,
                          part * 100 / whole_));
    }

  private:
    static void write(const std::string &text) {
        [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    }

    std::int64_t whole_;
    Clock::time_point begin_ = Clock::now();
    Clock::time_point last_;
    bool drawn_ = false;
};

PagesRow row_of(const procfs::Mapping &mapping) {
    PagesRow row;
    row.name = mapping.name;
    row.start = mapping.start;
    row.end = mapping.end;
    row.rss = procfs::or_zero(mapping.fields.rss);
    row.pss = procfs::or_zero(mapping.fields.pss);
    row.swap = procfs::or_zero(mapping.fields.swap);
    row.of_file = procfs::has_file(mapping);
    return row;
}

std::string_view describe(procfs::PageStop stop) {
    return stop == procfs::PageStop::Limit ? "the limit of pagemap entries was reached; raise --limit" : "interrupted";
}

/// Limits the swapped pages to those of smaps, which excludes markers, since their entries look the same if the kernel
/// hides the type. Returns whether the counts agree with smaps before or after. pagemap does not show which pages of
/// shmem are in swap, so the Swap of a file may be larger.
bool compare_swap(PagesRow &row, const PagesRow &again, bool types_hidden, const core::PageSize &page_size) {
    const core::Pages most = page_size.pages(std::max(row.swap, again.swap));
    core::Pages &swapped = row.counts.swapped;
    if (types_hidden) swapped = std::min(swapped, most);
    if (row.of_file) return swapped <= most;
    return page_size.kb(swapped) == row.swap || page_size.kb(swapped) == again.swap;
}

}  // namespace

void compare_with_smaps(PagesReport &report, const std::vector<procfs::Mapping> &after,
                        const core::PageSize &page_size) {
    std::map<std::uint64_t, const procfs::Mapping *> now;
    for (const procfs::Mapping &mapping : after)
        now[mapping.start] = &mapping;
    for (PagesRow &row : report.rows) {
        const auto found = now.find(row.start);
        if (found == now.end() || found->second->end != row.end) {
            report.omitted.push_back({row.name, row.start, "unmapped or resized during the reading"});
            continue;
        }
        const PagesRow again = row_of(*found->second);
        const Kilobytes present = page_size.kb(row.counts.present);
        const auto pss = row.counts.pss();
        const bool rss_agrees = present == row.rss || present == again.rss;
        const bool huge_moved = procfs::huge_pages(*found->second, page_size) != row.counts.huge;
        const bool pss_agrees = !pss || (std::min(row.pss, again.pss) <= *pss && *pss <= std::max(row.pss, again.pss));
        const bool swap_agrees = compare_swap(row, again, !report.why_no_frames.empty(), page_size);
        row.agrees = rss_agrees && pss_agrees && swap_agrees && !huge_moved;
        if (huge_moved || !swap_agrees || (!rss_agrees && (row.rss != again.rss || report.why_no_frames.empty()))) {
            report.omitted.push_back({row.name, row.start, "changed during the reading"});
        } else if (!rss_agrees) {
            report.omitted.push_back(
                {row.name, row.start,
                 "zero pages cannot be identified on this kernel without frame numbers (CAP_SYS_ADMIN)"});
        }
    }
}

core::Result<PagesReport> count_pages(const procfs::Process &process, const MappedProcess &mapped, std::uint64_t limit,
                                      const std::function<bool()> &stop) {
    const core::PageSize page_size{sysconf(_SC_PAGESIZE)};
    auto reader = procfs::PageReader::open(process, page_size);
    if (!reader) return reader.error();
    const auto begin = Clock::now();
    PagesReport report;
    report.scans = reader->scans();
    procfs::PageBudget budget;
    // PAGEMAP_SCAN skips absent pages; without it, each page of a mapping is an entry to read.
    Progress progress(page_size.pages(report.scans ? mapped.sums.rss + mapped.sums.swap : mapped.sums.size));
    budget.entries_left = limit;
    budget.go_on = [&] {
        progress.show(budget.entries_read);
        return !stop();
    };
    for (const procfs::Mapping &mapping : mapped.mappings) {
        if (!procfs::in_mm(mapping)) continue;
        PagesRow row = row_of(mapping);
        const auto stopped = reader->count(mapping, budget, row.counts);
        if (!stopped) return stopped.error();
        if (*stopped == procfs::PageStop::Done) {
            report.rows.push_back(std::move(row));
        } else {
            report.omitted.push_back({mapping.name, mapping.start, std::string(describe(*stopped))});
        }
    }
    report.why_no_frames = reader->why_no_frames();
    report.entries_read = budget.entries_read;
    report.took_us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
    const auto text = process.smaps_text();
    if (!text) return text.error();
    const auto after = procfs::parse_smaps(text->bytes);
    if (!after) return after.error();
    compare_with_smaps(report, *after, page_size);
    return report;
}

}  // namespace rsslag::memory
