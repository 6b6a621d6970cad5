// SPDX-License-Identifier: BSD-2-Clause
#include "session/save_when.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/reading_figures.h"
#include "core/sentence.h"
#include "core/text.h"

namespace rsslag::session {

using core::Assertion;
using core::Pages;

core::Result<std::vector<Assertion>> parse_save_when(std::string_view text) {
    static const std::vector<core::AssertedFigure> kFigures{{"rss"}, {"lag"}, {"growth"}};
    return core::parse_assertions(text, kFigures, "'rss>2GiB' or 'growth>10MiB', which is per second", "--save-when");
}

/// A peak counts that was reached since the last tick and is higher than all earlier ones. Of a process or program that
/// has ended, nothing else does.
double SaveWhen::value_of(const Assertion &condition, const core::Tick &tick, const Known &known) const {
    const auto bytes = static_cast<double>(tick.page_size.bytes);
    const bool runs = tick.state == core::State::Running;
    const Pages rss = runs ? tick.ledger.exact().rss() : Pages{};
    if (condition.field == "lag") {
        const bool higher = tick.extremes.lag_t_ns > known.t_ns;
        const Pages now = runs ? core::lag(tick.ledger.exact(), tick.ledger.flushed) : Pages{};
        return bytes * static_cast<double>((higher ? std::max(now, tick.extremes.lag) : now).n);
    }
    if (condition.field == "rss") {
        const bool higher = tick.extremes.most.t_ns > known.t_ns;
        return bytes * static_cast<double>((higher ? std::max(rss, tick.extremes.most.from) : rss).n);
    }
    if (!runs || known.points.empty() || tick.t_ns <= known.points.front().t_ns) return 0;
    return bytes * static_cast<double>((rss - known.points.front().rss).n) * 1e9 /
           static_cast<double>(tick.t_ns - known.points.front().t_ns);
}

void SaveWhen::on_tick(core::Tick tick) {
    const int pid = tick.process.pid;
    const bool ends = tick.state != core::State::Running;
    if (tick.seq != std::exchange(seq_, tick.seq)) before_ns_ = std::exchange(moment_ns_, tick.t_ns);
    Known &known = known_[pid];
    if (!known.points.empty() && known.t_ns < before_ns_) {
        const std::uint64_t at_rest_until = std::min(before_ns_, tick.t_ns - std::min(tick.t_ns, kGrowthOfNs));
        known.points.push_back({std::max(known.t_ns, at_rest_until), known.points.back().rss});
    }
    while (known.points.size() > 1 && known.points[1].t_ns + kGrowthOfNs <= tick.t_ns)
        known.points.pop_front();
    std::string reason;
    bool all = true;
    for (const Assertion &condition : conditions_) {
        // The least that a process held at its end is 0.
        const bool of_most = condition.relation == Assertion::Relation::Greater ||
                             condition.relation == Assertion::Relation::GreaterOrEqual;
        all = all && (!ends || of_most);
        const double value = value_of(condition, tick, known);
        all = all && condition.holds(value);
        const auto kb = static_cast<std::int64_t>(core::in_unit(core::AssertedFigure::Unit::Size, value));
        const std::string shown =
            fmt::format("{} kB{}", core::with_thousands(kb), condition.field == "growth" ? "/s" : "");
        reason += (reason.empty() ? "" : " and ") + core::comparison_text(condition, shown, true);
    }
    known.t_ns = tick.t_ns;
    known.points.push_back({tick.t_ns, tick.ledger.exact().rss()});
    if (!all) {
        holding_.erase(pid);
    } else if (holding_.insert(pid).second) {
        held_ = held_ || ends;
        pid_ = pid;
        reason_ = fmt::format("{}, in {} [{}]", reason, core::printable(tick.process.comm), pid);
    }
    if (!ends) return;
    known_.erase(pid);
    holding_.erase(pid);
}

}  // namespace rsslag::session
