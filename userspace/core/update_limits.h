// SPDX-License-Identifier: BSD-2-Clause
// The amounts that an update may have, by its own record alone.
#pragma once

#include <cstdint>
#include <optional>

#include "core/ledger.h"
#include "page_set.h"
#include "rsslag/abi.h"

namespace rsslag::core {

/// Folio orders that a fault on anonymous memory may map, one bit each; bit 0 is always set.
using FolioOrders = std::uint32_t;

/// The numbers of pages that an update may have, by the cause in its record, whether they went to the counter or a
/// cache.
///
/// Anonymous pages come one folio at a time, by a fault or without one (mm/memory.c do_anonymous_page, do_swap_page,
/// wp_page_copy, mm/huge_memory.c do_huge_pmd_anonymous_page, mm/gup.c faultin_page). Swap entries come one folio
/// at a time, too (mm/rmap.c try_to_unmap_one). A fault on a file or shmem maps the pages around it
/// (filemap_map_pages), or removes the one page that a private copy replaces. A fault that swaps pages in removes their
/// swap entries. Without a fault, one update removes the pages of a page table (zap_pte_range) or a huge page, or adds
/// them to an mm that is being built (copy_pte_range).
PageSet pages_of(const rsslag_update &update, FolioOrders orders);
/// The number of pages of nearly all such updates; nullopt if there is no such number.
std::optional<std::int64_t> usual_pages_of(const rsslag_update &update);

/// `cpu` scheme: the possible moves of the mm's own counter by an update after which its CPU caches nothing. Either the
/// update was folded together with all that the CPU had cached, in sum at least a batch. Or it cancelled what the CPU
/// had cached and moved nothing (lib/percpu_counter.c percpu_counter_add_batch). If the CPU had cached nothing, this
/// may be an update of 0 pages: filemap_map_pages() (mm/filemap.c) makes one if other threads have mapped all pages
/// first.
PageSet moved_by_fold(const PageSet &pages, std::int64_t before, std::int64_t batch);

/// `thread` scheme: whether the record is certainly of a flush, which moves exactly what the task had cached
/// (mm/memory.c sync_mm_rss, up to 6.1).
bool surely_flush(const rsslag_update &update);
/// Whether the record may be of a flush. A task caches only updates of its own mm.
bool maybe_flush(const rsslag_update &update);

}  // namespace rsslag::core
