// SPDX-License-Identifier: BSD-2-Clause
// What rsslag maps --pages shows: mapping by mapping, what the page tables and the frames say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/units.h"
#include "rsslag/procfs/pagemap.h"

namespace rsslag::view {

struct PagesRow {
    std::string name;  ///< raw
    std::uint64_t start = 0, end = 0;
    core::Kilobytes rss, pss;  ///< as smaps has them
    procfs::PageCounts counts;
    bool agrees = false;  ///< with smaps: Rss to the page, Pss too where frames can be had
};

/// A mapping that was not or not wholly counted, or that moved meanwhile.
struct PagesOmission {
    std::string name;  ///< raw
    std::uint64_t start = 0;
    std::string reason;
};

struct PagesReport {
    bool scans = false;
    std::string why_no_frames;  ///< empty where frames can be had
    std::uint64_t entries_read = 0;
    std::int64_t took_us = 0;
    std::vector<PagesRow> rows;
    std::vector<PagesOmission> omitted;

    procfs::PageCounts total() const;
};

}  // namespace rsslag::view
