// SPDX-License-Identifier: BSD-2-Clause
// Page by page: /proc/PID/pagemap, and for the frames behind it /proc/kpagecount and /proc/kpageflags
// (Documentation/admin-guide/mm/pagemap.rst).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "rsslag/core/result.h"
#include "rsslag/core/units.h"
#include "rsslag/procfs/files.h"
#include "rsslag/procfs/process.h"

namespace rsslag::procfs {

/// One entry of pagemap.
struct PageEntry {
    std::uint64_t bits = 0;

    bool present() const { return (bits >> 63 & 1) != 0; }
    /// In swap; a guard marker (6.15) looks the same and is none.
    bool swapped() const { return (bits >> 62 & 1) != 0 && !present() && (bits >> 58 & 1) == 0; }
    /// A page of a file or of shmem, rather than anonymous.
    bool of_file() const { return (bits >> 61 & 1) != 0; }
    /// Mapped by nobody else (4.2).
    bool exclusive() const { return (bits >> 56 & 1) != 0; }
    /// 0 for who lacks CAP_SYS_ADMIN.
    std::uint64_t frame() const { return bits & ((1ULL << 55) - 1); }
};

/// What the kernel knows of one frame.
struct Frame {
    std::uint64_t mapped = 0;  ///< page-table entries that map it: kpagecount
    std::uint64_t flags = 0;   ///< KPF_*: kpageflags

    bool zero() const { return (flags >> 24 & 1) != 0; }
    bool ksm() const { return (flags >> 21 & 1) != 0; }
    /// KPF_THP: of a folio of more than one page, whatever its size and however it is mapped: large folios of the page
    /// cache have it, too.
    bool large() const { return (flags >> 22 & 1) != 0; }
    bool dirty() const { return (flags >> 4 & 1) != 0; }
};

/// Sums over pages. present = exclusive + shared, and is what Rss counts.
struct PageCounts {
    core::Pages present, exclusive, shared, swapped;
    core::Pages apart;  ///< present, but counted by nothing: hugetlb pages, and what a driver or the kernel maps
    /// nullopt where neither frames nor PAGEMAP_SCAN can be had, which alone tell.
    std::optional<core::Pages> zero;
    /// Mapped by a huge entry of the page table, as smaps says of the mapping (huge_pages()); no page tells it.
    std::optional<core::Pages> huge;
    /// These need frames. `mapped` is pages by how many page-table entries map them, where that is more than one.
    std::optional<core::Pages> large, ksm;
    std::map<std::uint64_t, core::Pages> mapped;
    /// Σ share of each page in bytes << 12, as fs/proc/task_mmu.c adds it up; from frames alone.
    std::optional<std::uint64_t> pss_scaled;

    std::optional<core::Kilobytes> pss() const;
    PageCounts &operator+=(const PageCounts &other);
};

/// What smaps says of a mapping's pages that the PMD maps: AnonHugePages, ShmemPmdMapped and FilePmdMapped. Every user
/// who may read smaps may know it, on every kernel. PAGEMAP_SCAN's PAGE_IS_HUGE (6.7) is no better: it takes in the
/// huge zero page and hugetlb pages, which Rss does not count. nullopt where smaps has none of the lines. Pure.
std::optional<core::Pages> huge_pages(const Mapping &mapping, const core::PageSize &page_size);

/// Adds one page. `frame` is nullopt where frames cannot be had. `uncounted`: of a mapping whose pages RSS leaves out.
/// Pure.
void count_page(PageCounts &counts, PageEntry entry, const std::optional<Frame> &frame, bool uncounted,
                const core::PageSize &page_size);

/// How far a reader may go, and who is told how far it is.
struct PageBudget {
    std::uint64_t entries_left = 1ULL << 28;  ///< of pagemap
    std::uint64_t entries_read = 0;
    std::function<bool()> go_on = [] { return true; };  ///< asked now and then; false ends it
};

/// Why the pages of a mapping were not counted to the end.
enum class PageStop : std::uint8_t { Done, Limit, Interrupted };

class PageReader {
  public:
    /// Kind::Denied where the user may not, Kind::Unsupported without CONFIG_PROC_PAGE_MONITOR.
    static core::Result<PageReader> open(const Process &process, const core::PageSize &page_size,
                                         const std::string &root = "/proc");
    ~PageReader();
    PageReader(PageReader &&) noexcept;
    PageReader &operator=(PageReader &&) noexcept;

    /// Whether the kernel has PAGEMAP_SCAN (6.7), which skips what is not there.
    bool scans() const;
    /// Why frames cannot be had; empty where they can.
    const std::string &why_no_frames() const;

    /// Called with each page that is present or swapped, in order of addresses, a batch at a time.
    struct Page {
        std::uint64_t address = 0;
        PageEntry entry;
        std::optional<Frame> frame;
        bool zero = false;
    };
    using Visit = std::function<void(const Page &page)>;
    core::Result<PageStop> visit(std::uint64_t start, std::uint64_t end, PageBudget &budget, const Visit &visit);

    /// Kind::Gone where the process has ended meanwhile.
    core::Result<PageStop> count(const Mapping &mapping, PageBudget &budget, PageCounts &counts);

  private:
    struct State;
    explicit PageReader(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::procfs
