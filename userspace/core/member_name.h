// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string_view>

#include "core/units.h"

namespace rsslag::core {

/// The name of a member in every output.
constexpr std::string_view name(Member member) {
    return facts_of(member).name;
}

}  // namespace rsslag::core
