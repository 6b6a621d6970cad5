// SPDX-License-Identifier: BSD-2-Clause
// Single pages of a process: /proc/PID/pagemap, and /proc/kpagecount and /proc/kpageflags for the page frames
// (Documentation/admin-guide/mm/pagemap.rst).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/units.h"
#include "procfs/files.h"
#include "procfs/process.h"

namespace rsslag::procfs {

/// One entry of pagemap.
struct PageEntry {
    std::uint64_t bits = 0;

    bool present() const { return (bits >> 63 & 1) != 0; }
    /// In swap. Other entries have the swap bit, too: guard markers (6.15, bit 58), markers of userfaultfd, and pages
    /// that are poisoned, being migrated or in the memory of a device. All except guard markers have the highest of the
    /// 32 types: up to ten of them, depending on the kernel (include/linux/swap.h MAX_SWAPFILES). Without CAP_SYS_ADMIN
    /// the type is 0, and only a guard marker can be recognised.
    bool swapped() const {
        constexpr std::uint64_t kSwapAreas = 32 - 10;
        return (bits >> 62 & 1) != 0 && !present() && (bits >> 58 & 1) == 0 && (bits & 31) < kSwapAreas;
    }
    /// A page of a file or of shmem, not an anonymous one.
    bool of_file() const { return (bits >> 61 & 1) != 0; }
    /// Mapped exactly once (from 4.2).
    bool exclusive() const { return (bits >> 56 & 1) != 0; }
    /// The frame number (PFN); 0 if the reader lacks CAP_SYS_ADMIN.
    std::uint64_t frame() const { return bits & ((1ULL << 55) - 1); }
};

/// One page frame.
struct Frame {
    std::uint64_t mapped = 0;  ///< page-table entries that map it: kpagecount
    std::uint64_t flags = 0;   ///< KPF_*: kpageflags

    bool zero() const { return (flags >> 24 & 1) != 0; }
    bool ksm() const { return (flags >> 21 & 1) != 0; }
    /// KPF_THP: part of a folio of more than one page, whatever its size and however it is mapped. Large folios of the
    /// page cache have the flag too.
    bool large() const { return (flags >> 22 & 1) != 0; }
    bool dirty() const { return (flags >> 4 & 1) != 0; }
};

/// Sums over pages. present = exclusive + shared, the pages that Rss counts.
struct PageCounts {
    core::Pages present, exclusive, shared, swapped;
    core::Pages apart;  ///< present, but not in Rss: hugetlb pages and PFN mappings of drivers or the kernel
    /// Zero pages. nullopt if neither frames nor PAGEMAP_SCAN are available, since nothing else identifies them.
    std::optional<core::Pages> zero;
    /// Pages mapped by a huge page-table entry: huge_pages() of the mapping, since pagemap does not show it.
    std::optional<core::Pages> huge;
    std::optional<core::Pages> large, ksm;  ///< require frames
    /// Pages by the number of page-table entries that map them, if more than one; requires frames.
    std::map<std::uint64_t, core::Pages> mapped;
    /// Σ share of each page in bytes << 12, as fs/proc/task_mmu.c adds it up; requires frames.
    std::optional<std::uint64_t> pss_scaled;

    std::optional<core::Kilobytes> pss() const;
    PageCounts &operator+=(const PageCounts &other);
};

/// The pages of a mapping that a PMD maps: AnonHugePages + ShmemPmdMapped + FilePmdMapped of smaps, which every kernel
/// shows to every user who may read smaps. PAGE_IS_HUGE of PAGEMAP_SCAN (6.7) is not used, since it includes the huge
/// zero page and hugetlb pages, which Rss does not count. nullopt if smaps has none of these lines. Pure.
std::optional<core::Pages> huge_pages(const Mapping &mapping, const core::PageSize &page_size);

/// Adds one page. `frame`: nullopt if frames are not available. `uncounted`: the mapping is not counted in RSS. Pure.
void count_page(PageCounts &counts, PageEntry entry, const std::optional<Frame> &frame, bool uncounted,
                const core::PageSize &page_size);

/// The number of entries that a reader may read, and a callback that can stop it.
struct PageBudget {
    std::uint64_t entries_left = 1ULL << 28;  ///< of pagemap
    std::uint64_t entries_read = 0;
    std::function<bool()> go_on = [] { return true; };  ///< called before each batch; false stops the reader
};

/// How the reading of a range ended. Done: complete. Limit: no entries were left in the budget. Interrupted: go_on()
/// returned false.
enum class PageStop : std::uint8_t { Done, Limit, Interrupted };

/// Of these addresses, ascending, those whose pages are not present. Kind::Gone if the process has exited, otherwise as
/// PageReader::open().
core::Result<std::vector<std::uint64_t>> absent_pages(const Process &process, const core::PageSize &page_size,
                                                      std::span<const std::uint64_t> addresses);

class PageReader {
  public:
    /// Kind::Denied without permission, Kind::Unsupported without CONFIG_PROC_PAGE_MONITOR.
    static core::Result<PageReader> open(const Process &process, const core::PageSize &page_size,
                                         const std::string &root = "/proc");
    ~PageReader();
    PageReader(PageReader &&) noexcept;
    PageReader &operator=(PageReader &&) noexcept;

    /// Whether the kernel has PAGEMAP_SCAN (6.7), which skips absent pages.
    bool scans() const;
    /// Why frames are not available; empty if they are. May be set by visit().
    const std::string &why_no_frames() const;

    /// One page that is present or swapped.
    struct Page {
        std::uint64_t address = 0;
        PageEntry entry;
        std::optional<Frame> frame;
        bool zero = false;
    };
    using Visit = std::function<void(const Page &page)>;
    /// Calls `visit` for the pages from `start` to `end`, ascending by address. Kind::Gone if the process has exited.
    core::Result<PageStop> visit(std::uint64_t start, std::uint64_t end, PageBudget &budget, const Visit &visit);

    /// Adds the pages of a mapping to `counts`. Kind::Gone if the process has exited.
    core::Result<PageStop> count(const Mapping &mapping, PageBudget &budget, PageCounts &counts);

  private:
    struct State;
    explicit PageReader(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::procfs
