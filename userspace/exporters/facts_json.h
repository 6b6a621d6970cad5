// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>

#include "exporters/row.h"

namespace rsslag::exporters {

/// Adds the keys that the headers of exports and reports share.
void put_facts(nlohmann::ordered_json &object, const Facts &facts);

}  // namespace rsslag::exporters
