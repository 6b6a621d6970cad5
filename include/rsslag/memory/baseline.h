// SPDX-License-Identifier: BSD-2-Clause
// An old rsslag.maps/1 document as the measure of a new look. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/core/assertion.h"
#include "rsslag/core/result.h"
#include "rsslag/procfs/memory_map.h"

namespace rsslag::memory {

/// What one process was.
struct Baseline {
    int pid = 0;
    std::string comm;  ///< as printed in the document
    procfs::MapSums sums;
    std::vector<procfs::MapGroup> groups;  ///< names as printed in the document
};

/// All processes of the last document in `text`. Kind::Corrupt where it is not rsslag.maps/1.
core::Result<std::vector<Baseline>> read_baselines(std::string_view text);

/// The one that a process of that comm and PID is to be held against: the only one, that of its PID, or the only one of
/// its name. nullptr where that leaves none or many.
const Baseline *baseline_of(const std::vector<Baseline> &all, int pid, std::string_view comm);

/// The sum that an assertion names: as the keys of .sums, without _kb; `private` is clean and dirty.
std::optional<core::Kilobytes> named_sum(const procfs::MapSums &sums, std::string_view name);
/// For error messages: "size, rss, ...".
std::string sum_names();

/// An assertion and what came of it. holds is nullopt where there is no baseline to grow from.
struct Asserted {
    core::Assertion assertion;
    std::optional<bool> holds;
    std::optional<core::Kilobytes> value;  ///< what was compared: a size or its growth
};
Asserted evaluate(const core::Assertion &assertion, const procfs::MapSums &now, const Baseline *before);

}  // namespace rsslag::memory
