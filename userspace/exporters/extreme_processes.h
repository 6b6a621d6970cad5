// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "core/ledger.h"

namespace rsslag::exporters {

/// The positions of the processes with the largest value of a figure of --assert: held, cached or growth. A list that
/// leaves out some processes keeps these, and those with the ten highest peaks. `all` must not be empty.
std::set<std::size_t> extreme_processes(const std::vector<const core::Extremes *> &all);

}  // namespace rsslag::exporters
