// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "memory/mapped_process.h"
#include "procfs/process.h"

namespace rsslag::memory {

/// Counts the pages of each mapping of `mapped`, then reads smaps again and lists in PagesReport::omitted the mappings
/// that were not counted or that changed meanwhile. Reads at most `limit` entries of pagemap. If this takes long, it
/// shows its progress on stderr, if that is a terminal. It ends early when `stop` returns true. Errors as
/// procfs::PageReader::open().
core::Result<PagesReport> count_pages(const procfs::Process &process, const MappedProcess &mapped, std::uint64_t limit,
                                      const std::function<bool()> &stop);

/// Compares a report with `after`, smaps read again after the pages. The present pages must equal Rss of one of the
/// readings, the swapped pages Swap. Pss changes whenever another process maps or unmaps the pages, so it must only lie
/// between the two. Pure.
void compare_with_smaps(PagesReport &report, const std::vector<procfs::Mapping> &after,
                        const core::PageSize &page_size);

/// Counts the resident pages of the first mapped file whose path, or its last component, matches `glob`, by ELF section
/// and symbol. Kind::BadInput if no mapping matches; else errors as procfs::PageReader::open().
core::Result<ElfReport> count_elf_pages(const procfs::Process &process, const MappedProcess &mapped,
                                        const std::string &glob, const std::function<bool()> &stop);

}  // namespace rsslag::memory
