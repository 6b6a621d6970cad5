// SPDX-License-Identifier: BSD-2-Clause
// The text and JSON of a profile of stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "profile/profile.h"

namespace rsslag::report {

/// One line of a table by function, module, thread or reason.
struct StackLine {
    std::string name;    ///< raw bytes
    profile::Flow all;   ///< of the stacks that contain it
    profile::Flow self;  ///< of those whose innermost frame it is
};

enum class StacksBy : std::uint8_t { Function, Module, Thread, Reason };

/// Of "function", "module", "file" (the same), "thread" or "reason".
StacksBy stacks_by(std::string_view what);

/// Sums, the largest first.
std::vector<StackLine> lines(const profile::Profile &profile, StacksBy by);

/// The lines of a table, unless all are asked for.
inline constexpr std::size_t kStackLines = 40;

/// A table of at most `most` lines.
std::string stacks_text(const profile::Profile &profile, StacksBy by, std::size_t most, const core::PageSize &page_size,
                        bool utf8);

/// The keys "sampling" and "stacks" of rsslag.report/2, separated by a comma, without braces.
std::string stacks_json(const profile::Profile &profile);

}  // namespace rsslag::report
