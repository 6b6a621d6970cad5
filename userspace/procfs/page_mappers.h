// SPDX-License-Identifier: BSD-2-Clause
// Which mappings of a process have a certain page of a file, without frame numbers.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "core/units.h"
#include "procfs/files.h"
#include "procfs/process.h"

namespace rsslag::procfs {

/// By the address of each mapping: the number of page-table entries that map its most often mapped page, "mapmax" of
/// /proc/PID/numa_maps (fs/proc/task_mmu.c show_numa_map()). The kernel does not print 0 and 1. Pure.
std::map<std::uint64_t, std::uint64_t> parse_numa_maps(std::string_view text);

/// Maps the page itself, more often than any page of the process is mapped, and looks at which of its mappings mapmax
/// follows. The page is in the page cache already, as the process maps it. So this reads nothing from the disk, unless
/// reclaim has taken the page meanwhile. RSS of the process and its counters do not change. Of the pages that one PMD
/// entry maps, numa_maps counts only the first one (gather_pte_stats()).
class PageMappers {
  public:
    PageMappers(const Process &process, const core::PageSize &page_size) : process_(process), page_size_(page_size) {}

    /// As FilePages::mappers. If the path of `mapping` leads to another file by now, the result does not
    /// contain `mapping`. nullopt if the file cannot be opened or mapped, if the kernel has no numa_maps (CONFIG_NUMA),
    /// or if this was called too often.
    std::optional<std::set<std::uint64_t>> find(const Mapping &mapping, const std::set<std::uint64_t> &offsets);

  private:
    std::optional<std::map<std::uint64_t, std::uint64_t>> read() const;

    const Process &process_;
    core::PageSize page_size_;
    std::optional<std::uint64_t> times_;  ///< how often to map a page; 0: numa_maps cannot be read
    int calls_left_ = 300;
};

}  // namespace rsslag::procfs
