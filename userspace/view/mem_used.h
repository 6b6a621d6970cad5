// SPDX-License-Identifier: BSD-2-Clause
// What rsslag mem tells beside its table: who shares one memory, and whose the rest of the machine's is.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "rsslag/view/mem.h"

namespace rsslag::view {

/// Sizes of many processes, in the user's unit.
std::string mem_cell(core::Kilobytes kb, const core::PageSize &page_size, const TextStyle &style);

std::string sharing_text(const MemDocument &document, const TextStyle &style);
/// "shared_mm" and "maybe_shared_mm".
void put_sharing(nlohmann::ordered_json &object, const MemDocument &document);

std::string used_text(const MemDocument &document, const TextStyle &style);
nlohmann::ordered_json used_json(const MemDocument &document);

}  // namespace rsslag::view
