// SPDX-License-Identifier: BSD-2-Clause
#include "core/assertion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "core/text.h"

namespace rsslag::core {
namespace {

using Relation = Assertion::Relation;
using Unit = AssertedFigure::Unit;

/// The longer ones first: "<=" begins with "<".
constexpr std::array<std::pair<std::string_view, Relation>, 5> kRelations{{{"<=", Relation::LessOrEqual},
                                                                           {">=", Relation::GreaterOrEqual},
                                                                           {"==", Relation::Equal},
                                                                           {"<", Relation::Less},
                                                                           {">", Relation::Greater}}};
constexpr std::string_view kGrowth = ".growth";
constexpr std::string_view kUnitChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%";
constexpr std::string_view kNameChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%0123456789._";

/// The units of a limit with their factors, and the message if there is another one.
struct Units {
    std::vector<std::pair<std::string_view, double>> all;
    std::string_view expected;
};

constexpr double kKilo = 1024;

Units units_of(Unit unit) {
    switch (unit) {
        case Unit::Size:
            return {{{"B", 1}, {"kB", kKilo}, {"KiB", kKilo}, {"MiB", kKilo * kKilo}, {"GiB", kKilo * kKilo * kKilo}},
                    "expected a unit of size: B, kB, MiB or GiB"};
        case Unit::Time:
            return {{{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}}, "expected a unit of time: ms, s, m or h"};
        case Unit::Percent: return {{{"", 1}, {"%", 1}}, "expected % or no unit: the figure is a share"};
        case Unit::Count: break;
    }
    return {{{"", 1}}, "expected no unit: the figure is a count"};
}

/// Reads token by token. Each token includes the blanks after it.
class Parser {
  public:
    Parser(std::string_view text, const std::vector<AssertedFigure> &figures, std::string_view example,
           std::string_view option)
        : text_(text), figures_(figures), example_(example), option_(option) {}

    Result<std::vector<Assertion>> all() {
        std::vector<Assertion> all;
        skip_blanks();
        for (;;) {
            auto assertion = one();
            if (!assertion) return std::move(assertion).error();
            all.push_back(*std::move(assertion));
            if (at_ == text_.size()) return all;
            const std::size_t at = at_;
            if (take(kUnitChars) != "and") return refused(at, "expected 'and' or the end");
        }
    }

  private:
    Result<Assertion> one() {
        Assertion assertion;
        const std::size_t begin = at_;
        const std::string_view name = take(kNameChars);
        if (name.empty()) return refused(begin, "expected the name of a figure");
        const AssertedFigure *const figure = named(name);
        if (figure == nullptr) return refused(begin, "no such figure; the figures are " + names_of(figures_));
        assertion.field = figure->name;
        assertion.growth = name != figure->name;
        const auto relation =
            std::ranges::find_if(kRelations, [this](const auto &each) { return rest().starts_with(each.first); });
        if (relation == kRelations.end()) return refused(at_, "expected <, <=, >, >= or ==");
        assertion.relation = relation->second;
        at_ += relation->first.size();
        skip_blanks();
        if (Status read = read_limit(*figure, assertion); !read) return std::move(read).error();
        assertion.text = text_.substr(begin, text_.find_last_not_of(' ', at_ - 1) + 1 - begin);
        return assertion;
    }

    Status read_limit(const AssertedFigure &figure, Assertion &out) {
        const auto [after, error] =
            std::from_chars(rest().data(), text_.data() + text_.size(), out.limit, std::chars_format::fixed);
        // Growth from 0 is infinite in percent, so an infinite limit has a meaning only where growth is possible.
        if (error != std::errc{} || (!figure.growth && !std::isfinite(out.limit)))
            return refused(at_, "expected a number");
        at_ = static_cast<std::size_t>(after - text_.data());
        skip_blanks();
        const std::size_t unit_at = at_;
        std::string_view unit = take(kUnitChars);
        if (unit == "and") {
            at_ = unit_at;
            unit = {};
        }
        out.percent = out.growth && unit == "%";
        out.unit = out.percent ? Unit::Percent : figure.unit;
        const Units units = units_of(figure.unit);
        const auto found = std::ranges::find(units.all, unit, &std::pair<std::string_view, double>::first);
        if (found != units.all.end())
            out.limit *= found->second;
        else if (unit == "%" && figure.growth && !out.growth)
            return refused(unit_at, "a percentage requires .growth");
        else if (!out.percent && !(unit.empty() && out.limit == 0))
            return refused(unit_at, units.expected);
        return success();
    }

    /// The figure NAME, or that of NAME.growth.
    const AssertedFigure *named(std::string_view name) const {
        const auto found = std::ranges::find_if(figures_, [name](const AssertedFigure &figure) {
            return name == figure.name || (figure.growth && name == std::string(figure.name).append(kGrowth));
        });
        return found == figures_.end() ? nullptr : &*found;
    }

    Error refused(std::size_t at, std::string_view why) const {
        return {Kind::BadInput,
                fmt::format("cannot parse {} '{}' at position {}: {}", option_, printable(text_), at + 1, why), 0,
                fmt::format("write it like {}", example_)};
    }

    std::string_view rest() const { return text_.substr(at_); }
    void skip_blanks() { at_ = std::min(text_.find_first_not_of(' ', at_), text_.size()); }
    std::string_view take(std::string_view chars) {
        const std::string_view taken = rest().substr(0, rest().find_first_not_of(chars));
        at_ += taken.size();
        skip_blanks();
        return taken;
    }

    std::string_view text_;
    const std::vector<AssertedFigure> &figures_;
    std::string_view example_, option_;
    std::size_t at_ = 0;
};

}  // namespace

std::string names_of(const std::vector<AssertedFigure> &figures) {
    std::string names;
    for (const AssertedFigure &figure : figures)
        names += (names.empty() ? "" : ", ") + std::string(figure.name);
    return names;
}

std::string_view sign(Relation relation) {
    return std::ranges::find(kRelations, relation, &std::pair<std::string_view, Relation>::second)->first;
}

namespace {

std::string_view opposite(Relation relation) {
    switch (relation) {
        case Relation::Less: return ">=";
        case Relation::LessOrEqual: return ">";
        case Relation::Greater: return "<=";
        case Relation::GreaterOrEqual: return "<";
        case Relation::Equal: break;
    }
    return "!=";
}

/// As typed, with a blank before the unit.
std::string limit_text(const Assertion &assertion) {
    std::string limit = assertion.text.substr(assertion.text.find_last_of("<>=") + 1);
    limit.erase(0, limit.find_first_not_of(' '));
    const std::size_t unit = limit.find_first_of(kUnitChars);
    const std::size_t number_end = limit.find_last_not_of(' ', unit == std::string::npos ? unit : unit - 1) + 1;
    if (unit == std::string::npos) return limit.substr(0, number_end) + (assertion.field.ends_with('%') ? " %" : "");
    return limit.substr(0, number_end) + " " + limit.substr(unit, limit.find_last_not_of(' ') + 1 - unit);
}

}  // namespace

std::string comparison_text(const Assertion &assertion, std::string_view value, bool holds) {
    return fmt::format("{}{} {} {} {}", assertion.field, assertion.growth ? kGrowth : "", value,
                       holds ? sign(assertion.relation) : opposite(assertion.relation), limit_text(assertion));
}

std::string required_text(const Assertion &assertion) {
    return fmt::format("{} {}", sign(assertion.relation), limit_text(assertion));
}

double in_unit(AssertedFigure::Unit unit, double value) {
    return unit == Unit::Size ? value / kKilo : value;
}

std::string_view unit_name(AssertedFigure::Unit unit) {
    switch (unit) {
        case Unit::Size: return "kB";
        case Unit::Time: return "s";
        case Unit::Percent: return "%";
        case Unit::Count: break;
    }
    return "";
}

bool Assertion::holds(double value) const {
    switch (relation) {
        case Relation::Less: return value < limit;
        case Relation::LessOrEqual: return value <= limit;
        case Relation::Greater: return value > limit;
        case Relation::GreaterOrEqual: return value >= limit;
        case Relation::Equal: return value == limit;
    }
    return false;
}

double Assertion::compared(Kilobytes now, Kilobytes before) const {
    if (!growth) return static_cast<double>(now.n) * kKilo;
    const auto grown = static_cast<double>((now - before).n);
    if (!percent) return grown * kKilo;
    if (before.n == 0) return grown == 0 ? 0.0 : std::numeric_limits<double>::infinity();
    return 100.0 * grown / static_cast<double>(before.n);
}

Result<std::vector<Assertion>> parse_assertions(std::string_view text, const std::vector<AssertedFigure> &figures,
                                                std::string_view example, std::string_view option) {
    return Parser(text, figures, example, option).all();
}

}  // namespace rsslag::core
