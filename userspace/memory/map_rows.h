// SPDX-License-Identifier: BSD-2-Clause
// Which rows of a process's mappings are shown, and in which order.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "memory/mapped_process.h"
#include "procfs/smaps_lines.h"

namespace rsslag::memory {

/// How rows are ordered: as in smaps, by name, or by a field of smaps, largest first.
struct Order {
    enum class By { Default, Address, Name, Field } by = By::Default;
    const procfs::SmapsLine *field = nullptr;
};

/// The field of smaps with this name, ignoring case. Kind::BadInput if there is none.
core::Result<const procfs::SmapsLine *> field_named(const std::string &text);
/// "address", "name" or a field of smaps, ignoring case. Kind::BadInput for anything else.
core::Result<Order> order_named(const std::string &text);

void sort_mappings(std::vector<procfs::Mapping> &mappings, const Order &order);
/// Removes rows whose name does not match `glob`, unless it is empty. The sums stay those of the whole process.
void keep_matching(MappedProcess &process, const std::string &glob);

}  // namespace rsslag::memory
