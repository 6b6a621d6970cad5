// SPDX-License-Identifier: BSD-2-Clause
// The text and JSON of a profile of stacks.
#pragma once

#include <cstddef>
#include <string>

#include "core/units.h"
#include "exporters/pieces.h"
#include "profile/lines.h"
#include "profile/profile.h"
#include "report/report.h"

namespace rsslag::report {

/// The lines of a table, unless all are asked for.
inline constexpr std::size_t kStackLines = 40;

/// A table of at most `most` lines.
std::string stacks_text(const profile::Profile &profile, profile::By by, std::size_t most,
                        const core::PageSize &page_size, const ReportStyle &style);

/// Puts the keys "sampling" and "stacks" of rsslag.report/2, separated by a comma, without braces.
void put_stacks_json(exporters::Pieces &out, const profile::Profile &profile);

}  // namespace rsslag::report
