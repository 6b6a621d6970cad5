// SPDX-License-Identifier: BSD-2-Clause
#include "core/duration.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>

#include "core/text.h"

namespace rsslag::core {
namespace {

Error not_a_duration(std::string_view text) {
    return {Kind::BadInput, fmt::format("'{}' is not a duration", printable(text)), 0,
            "use 500ms, 2s, 1m, or a number of seconds"};
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
    double value = 0;
    const char *const end = text.data() + text.size();
    const auto [after, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || !std::isfinite(value) || value < 0) return not_a_duration(text);
    const std::string_view unit(after, static_cast<std::size_t>(end - after));
    double factor = 1000;
    if (unit == "ms") {
        factor = 1;
    } else if (unit == "m") {
        factor = 60'000;
    } else if (unit == "h") {
        factor = 3'600'000;
    } else if (!unit.empty() && unit != "s") {
        return not_a_duration(text);
    }
    constexpr double kMost = 1e12;  // about 30 years
    const double ms = value * factor;
    if (ms > kMost) return not_a_duration(text);
    return std::chrono::milliseconds(std::llround(ms));
}

Result<std::chrono::milliseconds> parse_interval(std::string_view text) {
    auto duration = parse_duration(text);
    if (duration && duration->count() < 10) {
        return Error{Kind::BadInput, fmt::format("the interval '{}' is too short", printable(text)), 0,
                     "use at least 10ms"};
    }
    return duration;
}

}  // namespace rsslag::core
