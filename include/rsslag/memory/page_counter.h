// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <string>

#include "rsslag/core/result.h"
#include "rsslag/memory/mapped_process.h"
#include "rsslag/procfs/process.h"

namespace rsslag::memory {

/// Counts the pages of each mapping of `mapped`, looks at smaps again after it, and says what could not be counted or
/// moved. Long work shows how far it is on a terminal's stderr, and ends early when `stop` says so. At most `limit`
/// entries of pagemap are read.
core::Result<PagesReport> count_pages(const procfs::Process &process, const MappedProcess &mapped, std::uint64_t limit,
                                      const std::function<bool()> &stop);

/// What of the ELF file whose mapped name, or its last part, matches `glob` is there, by section and symbol.
/// Kind::BadInput where no mapping matches.
core::Result<ElfReport> count_elf_pages(const procfs::Process &process, const MappedProcess &mapped,
                                        const std::string &glob, const std::function<bool()> &stop);

}  // namespace rsslag::memory
