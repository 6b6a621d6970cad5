// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/core/assertion.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "rsslag/core/text.h"

namespace rsslag::core {
namespace {

using Relation = Assertion::Relation;

/// The longer ones first: "<=" begins with "<".
constexpr std::array<std::pair<std::string_view, Relation>, 5> kRelations{{{"<=", Relation::LessOrEqual},
                                                                           {">=", Relation::GreaterOrEqual},
                                                                           {"==", Relation::Equal},
                                                                           {"<", Relation::Less},
                                                                           {">", Relation::Greater}}};
constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{
    {{"B", 1.0}, {"kB", 1024.0}, {"KiB", 1024.0}, {"MiB", 1024.0 * 1024.0}, {"GiB", 1024.0 * 1024.0 * 1024.0}}};

std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' '))
        text.remove_prefix(1);
    while (text.ends_with(' '))
        text.remove_suffix(1);
    return text;
}

Error refused(std::string_view text, std::string_view why) {
    return {Kind::BadInput, fmt::format("cannot parse --assert '{}': {}", printable(text), why), 0,
            "write it like 'private_dirty<10MiB' or 'rss.growth<=5%'"};
}

/// Reads the amount after the relation, in bytes or percent. Returns nullptr, else what is wrong with it.
const char *read_amount(std::string_view amount, Assertion &out) {
    const char *const end = amount.data() + amount.size();
    const auto [after, error] = std::from_chars(amount.data(), end, out.limit, std::chars_format::fixed);
    if (error != std::errc{}) return "no number after the comparison";
    const std::string_view unit = trimmed({after, static_cast<std::size_t>(end - after)});
    if (unit == "%") {
        out.percent = true;
        return out.growth ? nullptr : "a percentage requires .growth";
    }
    for (const auto &[name, bytes] : kUnits) {
        if (unit != name) continue;
        out.limit *= bytes;
        return nullptr;
    }
    if (unit.empty() && out.limit == 0) return nullptr;
    return "the unit is not one of B, kB, KiB, MiB, GiB, %";
}

}  // namespace

bool holds(double value, Relation relation, double limit) {
    switch (relation) {
        case Relation::Less: return value < limit;
        case Relation::LessOrEqual: return value <= limit;
        case Relation::Greater: return value > limit;
        case Relation::GreaterOrEqual: return value >= limit;
        case Relation::Equal: return value == limit;
    }
    return false;
}

bool Assertion::holds(Kilobytes now, Kilobytes before) const {
    if (!growth) return core::holds(static_cast<double>(now.n) * 1024.0, relation, limit);
    const auto grown = static_cast<double>((now - before).n);
    if (!percent) return core::holds(grown * 1024.0, relation, limit);
    if (before.n == 0) {
        return core::holds(grown == 0 ? 0.0 : std::numeric_limits<double>::infinity(), relation, limit);
    }
    return core::holds(100.0 * grown / static_cast<double>(before.n), relation, limit);
}

Result<Assertion> parse_assertion(std::string_view text) {
    const std::size_t at = text.find_first_of("<>=");
    if (at == std::string_view::npos) return refused(text, "no comparison");
    Assertion assertion;
    assertion.text = text;
    std::string_view field = trimmed(text.substr(0, at));
    if (constexpr std::string_view kGrowth = ".growth"; field.ends_with(kGrowth)) {
        assertion.growth = true;
        field.remove_suffix(kGrowth.size());
    }
    if (field.empty()) return refused(text, "no field before the comparison");
    assertion.field = field;
    const std::string_view rest = text.substr(at);
    for (const auto &[sign, relation] : kRelations) {
        if (!rest.starts_with(sign)) continue;
        assertion.relation = relation;
        if (const char *wrong = read_amount(trimmed(rest.substr(sign.size())), assertion)) return refused(text, wrong);
        return assertion;
    }
    return refused(text, "the comparison is not one of <, <=, >, >=, ==");
}

}  // namespace rsslag::core
