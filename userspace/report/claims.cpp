// SPDX-License-Identifier: BSD-2-Clause
// Assertions on a report: --assert 'peak_lag<1MiB and lost==0'.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "report_parts.h"
#include "rsslag/core/text.h"

namespace rsslag::report {
namespace {

using core::Error;
using core::Kind;
using Relation = core::Assertion::Relation;
using Unit = Figure::Unit;

/// Reads the tokens of an expression and tracks the position.
class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) { skip_blanks(); }

    bool done() const { return at_ == text_.size(); }
    std::size_t at() const { return at_; }

    /// Letters, digits, dots, underscores and percent signs.
    std::string_view word() {
        return take([](char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '%'; });
    }

    std::string_view letters() {
        return take([](char c) { return is_letter(c) || c == '%'; });
    }

    std::optional<Relation> relation() {
        constexpr std::array<std::pair<std::string_view, Relation>, 5> kRelations{{{"<=", Relation::LessOrEqual},
                                                                                   {">=", Relation::GreaterOrEqual},
                                                                                   {"==", Relation::Equal},
                                                                                   {"<", Relation::Less},
                                                                                   {">", Relation::Greater}}};
        for (const auto &[sign, relation] : kRelations) {
            if (!text_.substr(at_).starts_with(sign)) continue;
            at_ += sign.size();
            skip_blanks();
            return relation;
        }
        return std::nullopt;
    }

    std::optional<double> number() {
        double value = 0;
        const char *const begin = text_.data() + at_;
        const auto [after, error] =
            std::from_chars(begin, text_.data() + text_.size(), value, std::chars_format::fixed);
        if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
        at_ += static_cast<std::size_t>(after - begin);
        skip_blanks();
        return value;
    }

    std::string_view since(std::size_t begin) const {
        std::string_view all = text_.substr(begin, at_ - begin);
        while (all.ends_with(' '))
            all.remove_suffix(1);
        return all;
    }

  private:
    static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
    static bool is_digit(char c) { return c >= '0' && c <= '9'; }

    template <class Is>
    std::string_view take(Is is) {
        const std::size_t begin = at_;
        while (at_ < text_.size() && is(text_[at_]))
            ++at_;
        const std::string_view taken = text_.substr(begin, at_ - begin);
        skip_blanks();
        return taken;
    }

    void skip_blanks() {
        while (at_ < text_.size() && text_[at_] == ' ')
            ++at_;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

Error refused(std::string_view text, std::size_t at, std::string_view why) {
    return {Kind::BadInput,
            fmt::format("cannot parse --assert '{}' at position {}: {}", core::printable(text), at + 1, why), 0,
            "write it like 'peak_lag<1MiB and lost==0'"};
}

std::optional<double> factor(Unit unit, std::string_view word) {
    constexpr double kKilo = 1024;
    constexpr std::array<std::pair<std::string_view, double>, 5> kSizes{
        {{"B", 1}, {"kB", kKilo}, {"KiB", kKilo}, {"MiB", kKilo * kKilo}, {"GiB", kKilo * kKilo * kKilo}}};
    constexpr std::array<std::pair<std::string_view, double>, 4> kTimes{
        {{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}}};
    if (unit == Unit::Percent) return word.empty() || word == "%" ? std::optional(1.0) : std::nullopt;
    if (unit == Unit::Count) return word.empty() ? std::optional(1.0) : std::nullopt;
    const auto find = [word](const auto &units) -> std::optional<double> {
        for (const auto &[name, value] : units)
            if (word == name) return value;
        return std::nullopt;
    };
    return unit == Unit::Pages ? find(kSizes) : find(kTimes);
}

std::string_view units_of(Unit unit) {
    switch (unit) {
        case Unit::Pages: return "expected a unit of size: B, kB, MiB or GiB";
        case Unit::Nanoseconds: return "expected a unit of time: ms, s, m or h";
        case Unit::Percent: return "expected % or no unit: the figure is a share";
        case Unit::Count: break;
    }
    return "expected no unit: the figure is a count";
}

core::Result<Claim> parse_one(std::string_view text, Reader &reader) {
    const std::size_t begin = reader.at();
    Claim claim;
    claim.name = reader.word();
    if (claim.name.empty()) return refused(text, begin, "expected the name of a figure");
    const std::vector<Figure> all = figures({});
    const auto known = std::find_if(all.begin(), all.end(), [&](const Figure &f) { return f.name == claim.name; });
    if (known == all.end()) return refused(text, begin, "no such figure; the figures are " + claim_names());
    std::size_t at = reader.at();
    const auto relation = reader.relation();
    if (!relation) return refused(text, at, "expected <, <=, >, >= or ==");
    claim.relation = *relation;
    at = reader.at();
    const auto limit = reader.number();
    if (!limit) return refused(text, at, "expected a number");
    at = reader.at();
    Reader ahead = reader;
    std::string_view unit = ahead.letters();
    if (unit == "and") unit = {};
    if (!unit.empty()) reader = ahead;
    const auto times = unit.empty() && *limit == 0 ? std::optional(1.0) : factor(known->unit, unit);
    if (!times) return refused(text, at, units_of(known->unit));
    claim.limit = *limit * *times;
    claim.text = reader.since(begin);
    return claim;
}

std::string_view sign(Relation relation) {
    switch (relation) {
        case Relation::Less: return "<";
        case Relation::LessOrEqual: return "<=";
        case Relation::Greater: return ">";
        case Relation::GreaterOrEqual: return ">=";
        case Relation::Equal: break;
    }
    return "==";
}

/// In the unit of the limits: bytes, seconds, percent or a count.
double scaled(Unit unit, std::int64_t number, const core::PageSize &page_size) {
    const auto value = static_cast<double>(number);
    switch (unit) {
        case Unit::Pages: return value * static_cast<double>(page_size.bytes);
        case Unit::Nanoseconds: return value / 1e9;
        case Unit::Percent: return value / 100;
        case Unit::Count: break;
    }
    return value;
}

/// Whether the claim holds for every value that the figure may have.
bool surely(const Figure &figure, const Claim &claim, const core::PageSize &page_size) {
    if (!figure.value || figure.approximate) return false;
    const auto at = [&](std::int64_t value) {
        return core::holds(scaled(figure.unit, value, page_size), claim.relation, claim.limit);
    };
    const std::int64_t least = figure.least.value_or(*figure.value);
    const bool more_may_fail = claim.relation != Relation::Greater && claim.relation != Relation::GreaterOrEqual;
    return at(least) && at(*figure.value) && !(figure.at_least && more_may_fail);
}

/// Whether the claim fails for every value that the figure may have.
bool surely_not(const Figure &figure, const Claim &claim, const core::PageSize &page_size) {
    if (!figure.value || figure.approximate) return false;
    const auto at = [&](std::int64_t value) {
        return core::holds(scaled(figure.unit, value, page_size), claim.relation, claim.limit);
    };
    const bool less_may_hold = claim.relation == Relation::Greater || claim.relation == Relation::GreaterOrEqual;
    return !at(figure.least.value_or(*figure.value)) && !at(*figure.value) && !(figure.at_least && less_may_hold);
}

}  // namespace

std::string claim_names() {
    std::string names;
    for (const Figure &figure : figures({}))
        names += (names.empty() ? "" : ", ") + std::string(figure.name);
    return names;
}

core::Result<std::vector<Claim>> parse_claims(std::string_view text) {
    Reader reader(text);
    std::vector<Claim> claims;
    for (;;) {
        auto claim = parse_one(text, reader);
        if (!claim) return std::move(claim).error();
        claims.push_back(*std::move(claim));
        if (reader.done()) return claims;
        const std::size_t at = reader.at();
        if (reader.letters() != "and") return refused(text, at, "expected 'and' or the end");
    }
}

std::vector<ClaimResult> evaluate(const std::vector<Claim> &claims, const Report &report) {
    const core::PageSize page_size = report.facts.machine.page_size;
    const std::vector<Figure> all = figures(report);
    std::vector<ClaimResult> result;
    for (const Claim &claim : claims) {
        const auto figure =
            std::find_if(all.begin(), all.end(), [&](const Figure &each) { return each.name == claim.name; });
        ClaimResult one;
        one.claim = claim;
        if (figure->value) one.value = scaled(figure->unit, *figure->value, page_size);
        one.holds = surely(*figure, claim, page_size);
        std::string limit = claim.text.substr(claim.text.find_last_of("<>=") + 1);
        limit.erase(0, limit.find_first_not_of(' '));
        const bool known = one.holds || !figure->value || surely_not(*figure, claim, page_size);
        one.text = fmt::format("{} is {}, {}{} {}", claim.name, figure_text(*figure, page_size),
                               one.holds ? ""
                               : known   ? "not "
                                         : "not known to be ",
                               sign(claim.relation), limit);
        result.push_back(std::move(one));
    }
    return result;
}

}  // namespace rsslag::report
