// SPDX-License-Identifier: BSD-2-Clause
// What a record itself says of how much its update may have brought.
#pragma once

#include <cstdint>
#include <optional>

#include "page_set.h"
#include "rsslag/abi.h"
#include "rsslag/core/ledger.h"

namespace rsslag::core {

/// Folio orders that a fault on anonymous memory may map, a bit each; bit 0 always is set.
using FolioOrders = std::uint32_t;
inline constexpr FolioOrders kAnyOrder = 0x3ff;

/// The pages that an update of this record's cause brings, whatever came of them.
///
/// Anonymous pages come one folio at a time, by a fault or without one (mm/memory.c do_anonymous_page, do_swap_page,
/// wp_page_copy, mm/huge_memory.c do_huge_pmd_anonymous_page, mm/gup.c faultin_page), and so do swap entries
/// (mm/rmap.c try_to_unmap_one). Of a file or shmem a fault maps what lies around it (filemap_map_pages), or takes away
/// the one page that a private copy replaces. A fault that brings a page back takes it from swap. What goes without a
/// fault goes by page table (zap_pte_range) or huge page, and into an mm that is being made they come in the same way
/// (copy_pte_range).
PageSet pages_of(const rsslag_update &update, FolioOrders orders);
/// What it brings nearly always, nullopt where nothing is usual.
std::optional<std::int64_t> usual_pages_of(const rsslag_update &update);

/// `cpu` scheme: what an update that left its CPU with nothing cached moved the mm's own counter by. It went there with
/// all that the CPU had, which was at least a batch then, or it just cancelled it (lib/percpu_counter.c
/// percpu_counter_add_batch).
PageSet moved_by_fold(const PageSet &pages, std::int64_t before, std::int64_t batch);

/// `thread` scheme: whether the record surely is of a flush, which moves exactly what the task had cached
/// (mm/memory.c sync_mm_rss, up to 6.1).
bool surely_flush(const rsslag_update &update);
/// Whether it can be one: only a task whose mm it is caches.
bool maybe_flush(const rsslag_update &update);

}  // namespace rsslag::core
