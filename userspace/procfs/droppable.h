// SPDX-License-Identifier: BSD-2-Clause
// The memory of one process that reclaim can free without a write. Pure.
#pragma once

#include <vector>

#include "procfs/memory_map.h"

namespace rsslag::procfs {

/// Both are upper bounds: smaps does not show which pages another process has locked or a driver has pinned.
struct Droppable {
    core::Kilobytes file;  ///< clean pages of files; a page in several mappings of the process counts once
    /// A lower bound: `file` with each page once. Equal to `file` if `each_once`.
    core::Kilobytes file_surely_once;
    core::Kilobytes anon;  ///< pages given up by MADV_FREE, and those of MAP_DROPPABLE mappings
    /// False if `file` may contain a page twice: it may be mapped by two paths, and neither frame numbers nor the
    /// functions of FilePages show whether it is.
    bool each_once = true;

    core::Kilobytes total() const { return file + anon; }
};

/// Pages that a driver or the kernel inserted into the mapping are on no LRU list, although they count as file pages: a
/// packet socket's ring (VM_MIXEDMAP by vm_insert_page()), the buffers of perf, BPF, io_uring and AIO (VM_DONTEXPAND,
/// which mappings of disk files do not have), device memory. A name that is not a path is not a disk file either:
/// socket:[1], anon_inode:[perf_event]. The mapping must have a file that is not on tmpfs.
bool is_of_driver(const Mapping &mapping);

/// Computes Droppable from smaps. `pages` finds the clean pages that two mappings of a file share, which count once.
/// Without it, the result is the largest number of distinct pages that the ranges and counts of the mappings allow.
/// Device and inode number do not identify a file on an overlay, where a layer has them, or on Btrfs, where snapshots
/// use the same inode numbers. There, frame numbers or mappers() of `pages` show which mappings have the same pages.
Droppable droppable(const std::vector<Mapping> &mappings, const Devices &devices, const FilePages &pages = {});

}  // namespace rsslag::procfs
