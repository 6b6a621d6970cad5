// SPDX-License-Identifier: BSD-2-Clause
// What of the memory of one process reclaim can take without a write. Pure.
#pragma once

#include <vector>

#include "rsslag/procfs/memory_map.h"

namespace rsslag::procfs {

/// Both are upper bounds: smaps does not say which pages another process has locked, or a driver has pinned.
struct Droppable {
    core::Kilobytes file;  ///< clean pages of files; a page that is mapped at several places counts once
    core::Kilobytes anon;  ///< given up with MADV_FREE, or of a MAP_DROPPABLE mapping

    core::Kilobytes total() const { return file + anon; }
};

/// By `pages`, if it can be asked, the clean pages that two mappings of a file have both count once; without it, those
/// that cannot be others.
Droppable droppable(const std::vector<Mapping> &mappings, const Devices &devices, const FilePages &pages = {});

}  // namespace rsslag::procfs
