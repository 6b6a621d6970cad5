// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "rsslag/core/result.h"
#include "rsslag/procfs/process.h"
#include "rsslag/view/maps.h"
#include "signals.h"

namespace rsslag::cli {

/// Counts the pages of each mapping of `mapped`, looks at smaps again after it, and says what could not be counted or
/// moved. Long work shows how far it is on a terminal's stderr, and ends early when `stop` says so. At most `limit`
/// entries of pagemap are read.
core::Result<view::PagesReport> count_pages(const procfs::Process &process, const view::MappedProcess &mapped,
                                            std::uint64_t limit, StopSignals &stop);

}  // namespace rsslag::cli
