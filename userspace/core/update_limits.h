// SPDX-License-Identifier: BSD-2-Clause
// The amounts that an update may have by its own record.
#pragma once

#include <cstdint>
#include <optional>

#include "page_set.h"
#include "rsslag/abi.h"
#include "rsslag/core/ledger.h"

namespace rsslag::core {

/// Folio orders that a fault on anonymous memory may map, one bit each; bit 0 is always set.
using FolioOrders = std::uint32_t;
inline constexpr FolioOrders kAnyOrder = 0x3ff;

/// The pages that an update of this record's cause may bring, whether they went to the counter or to a cache.
///
/// Anonymous pages come one folio at a time, by a fault or without one (mm/memory.c do_anonymous_page, do_swap_page,
/// wp_page_copy, mm/huge_memory.c do_huge_pmd_anonymous_page, mm/gup.c faultin_page), and so do swap entries
/// (mm/rmap.c try_to_unmap_one). A fault on a file or shmem maps the pages around it (filemap_map_pages), or removes
/// the one page that a private copy replaces. A fault that swaps pages in removes their swap entries. Without a fault,
/// pages go by page table (zap_pte_range) or huge page, and come so into an mm that is being built (copy_pte_range).
PageSet pages_of(const rsslag_update &update, FolioOrders orders);
/// What nearly all such updates bring; nullopt if nothing is usual.
std::optional<std::int64_t> usual_pages_of(const rsslag_update &update);

/// `cpu` scheme: what an update that left its CPU with nothing cached moved the mm's own counter by. Either it was
/// folded with all that the CPU had, at least a batch together, or it cancelled what the CPU had and moved nothing
/// (lib/percpu_counter.c percpu_counter_add_batch).
PageSet moved_by_fold(const PageSet &pages, std::int64_t before, std::int64_t batch);

/// `thread` scheme: whether the record is certainly of a flush, which moves exactly what the task had cached
/// (mm/memory.c sync_mm_rss, up to 6.1).
bool surely_flush(const rsslag_update &update);
/// Whether it may be of a flush: a task caches only updates of its own mm.
bool maybe_flush(const rsslag_update &update);

}  // namespace rsslag::core
