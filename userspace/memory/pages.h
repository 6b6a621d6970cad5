// SPDX-License-Identifier: BSD-2-Clause
// The results of rsslag maps --pages and --elf: pages by mapping, and within one ELF file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "procfs/elf.h"
#include "procfs/pagemap.h"

namespace rsslag::memory {

struct PagesRow {
    std::string name;  ///< raw
    std::uint64_t start = 0, end = 0;
    bool of_file = false;
    core::Kilobytes rss, pss, swap;  ///< as smaps prints them
    procfs::PageCounts counts;
    bool agrees = false;  ///< the counts equal Rss and Swap of smaps to the page, and Pss too if frames are available
};

/// A mapping that was not counted completely, or that changed meanwhile.
struct PagesOmission {
    std::string name;  ///< raw
    std::uint64_t start = 0;
    std::string reason;
};

struct PagesReport {
    bool scans = false;         ///< PAGEMAP_SCAN was used
    std::string why_no_frames;  ///< empty if frames are available
    std::uint64_t entries_read = 0;
    std::int64_t took_us = 0;
    std::vector<PagesRow> rows;
    std::vector<PagesOmission> omitted;

    procfs::PageCounts total() const;
};

/// The resident pages of one mapped ELF file.
struct ElfReport {
    std::string file;                   ///< raw
    std::optional<std::string> reason;  ///< why sections and symbols are missing
    std::vector<procfs::ElfPresence> sections;
    std::vector<procfs::ElfPresence> symbols;  ///< with a resident page; by descending written, then resident
    std::size_t symbols_left_out = 0;
};

}  // namespace rsslag::memory
