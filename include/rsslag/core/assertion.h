// SPDX-License-Identifier: BSD-2-Clause
// "private_dirty<10MiB", "rss.growth<=5%": what --assert demands of a named size. Pure.
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

    std::string text;     ///< as typed
    std::string field;    ///< before the dot
    bool growth = false;  ///< of what it was before, which somebody must know
    Relation relation = Relation::Less;
    double limit = 0;  ///< bytes, or percent of what it was
    bool percent = false;

    /// `before` is for growth alone. From nothing any growth is without bounds in percent.
    bool holds(Kilobytes now, Kilobytes before) const;
};

/// value RELATION limit.
bool holds(double value, Assertion::Relation relation, double limit);

/// FIELD[.growth] < | <= | > | >= | == NUMBER B|kB|MiB|GiB|%, with or without blanks. The unit may be missing for 0; a
/// percentage is of growth. Kind::BadInput otherwise.
Result<Assertion> parse_assertion(std::string_view text);

}  // namespace rsslag::core
