// SPDX-License-Identifier: BSD-2-Clause
#include "gone.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "exporters/extreme_processes.h"

namespace rsslag::analysis {
namespace {

constexpr std::size_t kMostKept = 2000;

}  // namespace

void Gone::add(core::Summary::Process process, bool always) {
    kept_.push_back({std::move(process), added_++, always, false});
    if (kept_.size() >= 2 * kMostKept) leave_out(kMostKept);
}

void Gone::mark_extreme() {
    // Of processes with equal values the latest ones are kept.
    std::sort(kept_.begin(), kept_.end(), [](const Ended &a, const Ended &b) { return a.number > b.number; });
    std::vector<const core::Extremes *> all;
    for (Ended &each : kept_) {
        each.extreme = false;
        all.push_back(&each.process.extremes);
    }
    for (const std::size_t at : exporters::extreme_processes(all))
        kept_[at].extreme = true;
}

void Gone::leave_out(std::size_t most) {
    if (kept_.size() <= most) return;
    mark_extreme();
    const auto rest = kept_.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(kept_.begin(), rest, kept_.end(), [](const Ended &a, const Ended &b) {
        const bool keep_a = a.always || a.extreme;
        const bool keep_b = b.always || b.extreme;
        return std::tie(keep_b, b.process.extremes.lag, b.number) < std::tie(keep_a, a.process.extremes.lag, a.number);
    });
    for (auto each = rest; each != kept_.end(); ++each) {
        left_out_.processes++;
        left_out_.programs += each->process.extremes.image != 0 ? 1 : 0;
        left_out_.peak_lag = std::max(left_out_.peak_lag, each->process.extremes.lag);
        left_out_.peak = std::max(left_out_.peak, each->process.extremes.most.to);
        left_out_.peaks += each->process.extremes.most.to;
        left_out_.approximate = left_out_.approximate || each->process.extremes.approximate();
        for (const auto &[verdict, ticks] : each->process.verdicts)
            left_out_.verdicts[verdict] += ticks;
    }
    kept_.erase(rest, kept_.end());
}

void Gone::put(core::Summary &summary) {
    leave_out(kMostKept);
    std::sort(kept_.begin(), kept_.end(), [](const Ended &a, const Ended &b) { return a.number < b.number; });
    for (Ended &each : kept_)
        summary.processes.push_back(std::move(each.process));
    summary.left_out = left_out_;
    kept_.clear();
}

}  // namespace rsslag::analysis
