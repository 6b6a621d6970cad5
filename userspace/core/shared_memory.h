// SPDX-License-Identifier: BSD-2-Clause
// Processes that share one mm (CLONE_VM without CLONE_THREAD, vfork): their rows must not be added up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rsslag::core {

/// "4711 and 4712 share one memory: each row shows all of it" as a line; empty for fewer than two PIDs. `summed`: "it
/// is counted once", as the output has a sum over processes.
std::string shared_line(const std::vector<int> &pids, bool summed = false);

/// The groups of two PIDs or more that have the same mm, ascending.
std::vector<std::vector<int>> sharing(std::map<std::uint64_t, std::vector<int>> by_mm);

}  // namespace rsslag::core
