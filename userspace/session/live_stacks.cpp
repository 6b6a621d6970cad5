// SPDX-License-Identifier: BSD-2-Clause
#include "session/live_stacks.h"

#include <utility>
#include <variant>

namespace rsslag::session {

void ProfileSink::restart() {
    collector_ = profile::Collector();
    collector_.begin(period_);
    changed_ = true;
}

std::shared_ptr<profile::Profile> ProfileSink::changed() {
    return std::exchange(changed_, false) ? std::make_shared<profile::Profile>(collector_.now()) : nullptr;
}

core::Status ProfileSink::row(const exporters::Row &row) {
    if (collector_.note(row)) changed_ = true;
    return core::success();
}

void ProfileSink::samples(const core::event::Samples &samples) {
    collector_.samples(samples);
}

void ProfileSink::stacks(const core::event::Stacks &stacks) {
    collector_.stacks(stacks);
    changed_ = true;
}

void ProfileSink::absent_pages(const core::event::AbsentPages &absent) {
    collector_.absent_pages(absent);
    changed_ = true;
}

void LiveStacks::begin(std::uint64_t start_ns, std::uint64_t from_ns) {
    start_ns_ = start_ns;
    from_ns_ = from_ns;
    restart();  // an earlier profile may be shown
    RowMaker::begin(start_ns);
}

/// A row waits for records of its time. Those of the last second may still come.
void LiveStacks::on_tick(core::Tick tick) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const std::uint64_t t_ns = tick.t_ns;
    lossy_ = lossy_ || tick.lost > 0;
    RowMaker::on_tick(std::move(tick));
    if (t_ns > kSecond) reached(start_ns_ + t_ns - kSecond);
    keep_at_most(most_ / 4);
    if (size() <= most_) return;
    restart();
    from_ns_ = t_ns;
}

std::shared_ptr<const profile::Profile> LiveStacks::changed() {
    auto profile = ProfileSink::changed();
    if (profile) profile->lossy = lossy_;
    return profile;
}

}  // namespace rsslag::session
