// SPDX-License-Identifier: BSD-2-Clause
// The parts of rsslag mem in addition to its table: processes that share one mm, and the use of the machine's other
// memory.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "documents/mem.h"

namespace rsslag::documents {

/// A size in the user's unit, for a column.
std::string mem_cell(core::Kilobytes kb, const core::PageSize &page_size, const TextStyle &style);

std::string sharing_text(const MemDocument &document, const TextStyle &style);
/// Adds the keys "shared_mm" and "maybe_shared_mm".
void put_sharing(nlohmann::ordered_json &object, const MemDocument &document);

std::string used_text(const MemDocument &document, const TextStyle &style);
nlohmann::ordered_json used_json(const MemDocument &document);

}  // namespace rsslag::documents
