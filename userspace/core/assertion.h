// SPDX-License-Identifier: BSD-2-Clause
// "peak_lag<1MiB and lost==0", "rss.growth<=5%": the value of --assert, for all commands, and of --save-when. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace rsslag::core {

/// A figure that an assertion may name.
struct AssertedFigure {
    enum class Unit : std::uint8_t { Size, Time, Percent, Count };

    std::string_view name;
    Unit unit = Unit::Size;
    bool growth = false;  ///< NAME.growth is possible too, for a size only. Its limit may be a percentage
};

/// "rss, pss, ...".
std::string names_of(const std::vector<AssertedFigure> &figures);

/// One comparison.
struct Assertion {
    enum class Relation : std::uint8_t { Less, LessOrEqual, Greater, GreaterOrEqual, Equal };

    std::string text;     ///< as in the arguments, without the blanks around it
    std::string field;    ///< the name of the figure
    bool growth = false;  ///< the limit applies to the growth since an earlier value
    Relation relation = Relation::Less;
    double limit = 0;  ///< bytes, seconds, percent or a count, depending on `unit`
    AssertedFigure::Unit unit = AssertedFigure::Unit::Size;  ///< of the limit; Percent also for growth in percent
    bool percent = false;  ///< of growth: the limit is a percentage of the earlier value

    /// Whether "value RELATION limit" is true.
    bool holds(double value) const;
    /// A size, or its growth, in the unit of the limit. `before` is used for growth only. Growth from 0 is infinite in
    /// percent, except that growth by 0 is 0 %.
    double compared(Kilobytes now, Kilobytes before) const;
    bool holds(Kilobytes now, Kilobytes before) const { return holds(compared(now, before)); }
};

/// "<", "<=", ">", ">=" or "==".
std::string_view sign(Assertion::Relation relation);

/// "peak_rss 1,660 kB >= 1 MiB": the value, which includes its unit, and how it compares with the limit.
std::string comparison_text(const Assertion &assertion, std::string_view value, bool holds);
/// "< 1 MiB": what the assertion requires.
std::string required_text(const Assertion &assertion);

/// A value or limit in the unit that documents use: kB, s, %, or none for a count.
double in_unit(AssertedFigure::Unit unit, double value);
std::string_view unit_name(AssertedFigure::Unit unit);

/// Parses "COMPARISON { and COMPARISON }". A COMPARISON is NAME[.growth] < | <= | > | >= | == NUMBER [UNIT], with or
/// without blanks. Sizes have the units B, kB (or KiB), MiB, GiB, and % with .growth; times have ms, s, m, h. 0 needs
/// no unit, figures that are shares need none, counts have none. Kind::BadInput with the position of the error, counted
/// from 1, and with `example` in the remedy. `option`: whose value it is.
Result<std::vector<Assertion>> parse_assertions(std::string_view text, const std::vector<AssertedFigure> &figures,
                                                std::string_view example, std::string_view option = "--assert");

}  // namespace rsslag::core
