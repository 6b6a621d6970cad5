// SPDX-License-Identifier: BSD-2-Clause
// Assertions on a report: --assert 'peak_lag<1MiB and lost==0'.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text.h"
#include "report_parts.h"

namespace rsslag::report {
namespace {

using Relation = core::Assertion::Relation;
using Unit = Figure::Unit;

std::vector<core::AssertedFigure> asserted_figures() {
    std::vector<core::AssertedFigure> all;
    for (const Figure &figure : figures({}))
        all.push_back({figure.name, figure.unit});
    return all;
}

/// In the unit of the limits: bytes, seconds, percent or a count.
double scaled(const Figure &figure, std::int64_t number, const core::PageSize &page_size) {
    const auto value = static_cast<double>(number);
    switch (figure.unit) {
        case Unit::Size: return value * static_cast<double>(page_size.bytes);
        case Unit::Time: return value / 1e9;
        case Unit::Percent:
            if (figure.parts)  // `value` is rounded
                return 100 * static_cast<double>(figure.parts->first.n) / static_cast<double>(figure.parts->second.n);
            return value / 100;
        case Unit::Count: break;
    }
    return value;
}

/// Whether the claim holds for every value that the figure may have.
bool surely(const Figure &figure, const core::Assertion &claim, const core::PageSize &page_size) {
    if (!figure.value || figure.approximate) return false;
    const auto at = [&](std::int64_t value) { return claim.holds(scaled(figure, value, page_size)); };
    const std::int64_t least = figure.least.value_or(*figure.value);
    const bool more_may_fail = claim.relation != Relation::Greater && claim.relation != Relation::GreaterOrEqual;
    return at(least) && at(*figure.value) && !(figure.at_least && more_may_fail);
}

/// Whether the claim fails for every value that the figure may have.
bool surely_not(const Figure &figure, const core::Assertion &claim, const core::PageSize &page_size) {
    if (!figure.value || figure.approximate) return false;
    const auto at = [&](std::int64_t value) { return claim.holds(scaled(figure, value, page_size)); };
    const bool less_may_hold = claim.relation == Relation::Greater || claim.relation == Relation::GreaterOrEqual;
    return !at(figure.least.value_or(*figure.value)) && !at(*figure.value) && !(figure.at_least && less_may_hold);
}

/// By how much a figure that fails misses the limit, at least. "" if it equals the limit.
std::string missed_by(const Figure &figure, const core::Assertion &claim, const core::PageSize &page_size) {
    const bool too_high = claim.relation == Relation::Less || claim.relation == Relation::LessOrEqual;
    const std::int64_t nearest = too_high ? figure.least.value_or(*figure.value) : *figure.value;
    const double distance = std::abs(scaled(figure, nearest, page_size) - claim.limit);
    if (distance == 0) return "";
    switch (figure.unit) {
        case Unit::Time: return fmt::format(", by {:.3f} s", distance);
        case Unit::Percent: return fmt::format(", by {:.2f} percentage points", distance);
        default: break;
    }
    if (figure.unit != Unit::Size) return "";
    return fmt::format(
        ", by {} kB", core::with_thousands(static_cast<std::int64_t>(std::ceil(core::in_unit(figure.unit, distance)))));
}

std::string result_text(const Figure &figure, const core::Assertion &claim, bool holds,
                        const core::PageSize &page_size) {
    const std::string value = figure_text(figure, page_size);
    if (!figure.value) return fmt::format("{} is {}, must be {}", claim.field, value, core::required_text(claim));
    if (holds) return core::comparison_text(claim, value, true);
    const std::string where = figure.process.empty() ? "" : ", in " + figure.process;
    if (surely_not(figure, claim, page_size))
        return core::comparison_text(claim, value, false) + missed_by(figure, claim, page_size) + where;
    return fmt::format("{} is {}, not known to be {}{}", claim.field, value, core::required_text(claim), where);
}

}  // namespace

std::string claim_names() {
    return core::names_of(asserted_figures());
}

core::Result<std::vector<core::Assertion>> parse_claims(std::string_view text) {
    return core::parse_assertions(text, asserted_figures(), "'peak_lag<1MiB and lost==0'");
}

std::vector<ClaimResult> evaluate(const std::vector<core::Assertion> &claims, const Report &report) {
    const core::PageSize page_size = report.facts.machine.page_size;
    const std::vector<Figure> all = figures(report);
    std::vector<ClaimResult> result;
    for (const core::Assertion &claim : claims) {
        const auto figure =
            std::find_if(all.begin(), all.end(), [&](const Figure &each) { return each.name == claim.field; });
        ClaimResult one;
        one.claim = claim;
        if (figure->value) one.value = scaled(*figure, *figure->value, page_size);
        one.holds = surely(*figure, claim, page_size);
        one.text = result_text(*figure, claim, one.holds, page_size);
        result.push_back(std::move(one));
    }
    return result;
}

}  // namespace rsslag::report
