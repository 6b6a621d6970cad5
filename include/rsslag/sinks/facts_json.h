// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>

#include "rsslag/sinks/row.h"

namespace rsslag::sinks {

/// The keys that the header of an export and of a report have in common.
void put_facts(nlohmann::ordered_json &object, const Facts &facts);

}  // namespace rsslag::sinks
