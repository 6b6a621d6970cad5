// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>

#include "rsslag/recording/row.h"

namespace rsslag::recording {

/// The keys that the header of an export and of a report have in common.
void put_facts(nlohmann::ordered_json &object, const Facts &facts);

}  // namespace rsslag::recording
