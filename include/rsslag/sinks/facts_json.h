// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>

#include "rsslag/sinks/row.h"

namespace rsslag::sinks {

/// Adds the keys that the headers of exports and reports share.
void put_facts(nlohmann::ordered_json &object, const Facts &facts);

}  // namespace rsslag::sinks
