// SPDX-License-Identifier: BSD-2-Clause
// What rsslag maps --pages and --elf show: mapping by mapping, and within one ELF file, what is there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/units.h"
#include "rsslag/procfs/elf.h"
#include "rsslag/procfs/pagemap.h"

namespace rsslag::memory {

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

/// What of one mapped ELF file is there.
struct ElfReport {
    std::string file;                   ///< raw
    std::optional<std::string> reason;  ///< why there is nothing
    std::vector<procfs::ElfPresence> sections;
    std::vector<procfs::ElfPresence> symbols;  ///< with a resident page; most written, then most resident first
    std::size_t symbols_left_out = 0;
};

}  // namespace rsslag::memory
