// SPDX-License-Identifier: BSD-2-Clause
// Which rows of a process's mappings are shown, and in which order.
#pragma once

#include <string>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/memory/mapped_process.h"
#include "rsslag/procfs/smaps_lines.h"

namespace rsslag::memory {

/// How rows are ordered: as smaps has them, by name, or by a field of smaps, largest first.
struct Order {
    enum class By { Default, Address, Name, Field } by = By::Default;
    const procfs::SmapsLine *field = nullptr;
};

/// Whatever the case of its letters. Kind::BadInput where smaps has no such field.
core::Result<const procfs::SmapsLine *> field_named(const std::string &word);
core::Result<Order> order_named(const std::string &word);

void sort_mappings(std::vector<procfs::Mapping> &mappings, const Order &order);
/// Those whose name matches `glob`, if it is not empty. Only rows go: the sums stay those of the whole process.
void keep_matching(MappedProcess &process, const std::string &glob);

}  // namespace rsslag::memory
