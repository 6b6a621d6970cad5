// SPDX-License-Identifier: BSD-2-Clause
// "private_dirty<10MiB", "rss.growth<=5%": a condition of --assert on a named size. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rsslag/core/result.h"
#include "rsslag/core/units.h"

namespace rsslag::core {

struct Assertion {
    enum class Relation : std::uint8_t { Less, LessOrEqual, Greater, GreaterOrEqual, Equal };

    std::string text;     ///< as in the arguments
    std::string field;    ///< the part before ".growth"
    bool growth = false;  ///< the limit applies to the growth since an earlier value
    Relation relation = Relation::Less;
    double limit = 0;  ///< bytes, or percent of the earlier value
    bool percent = false;

    /// Whether the assertion holds. `before` is used for growth only. Growth from 0 is infinite in percent, except that
    /// growth by 0 is 0 %.
    bool holds(Kilobytes now, Kilobytes before) const;
};

/// Whether "value RELATION limit" is true.
bool holds(double value, Assertion::Relation relation, double limit);

/// Parses FIELD[.growth] < | <= | > | >= | == NUMBER B|kB|KiB|MiB|GiB|%, with or without spaces. The unit is optional
/// for 0; % requires .growth. Kind::BadInput otherwise.
Result<Assertion> parse_assertion(std::string_view text);

}  // namespace rsslag::core
