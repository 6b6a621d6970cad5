// SPDX-License-Identifier: BSD-2-Clause
#include "rss_track.h"

#include <algorithm>

namespace rsslag::core {

void RssTrack::Bounds::include(Range value) {
    most_from = std::max(most_from, value.from);
    most_to = std::max(most_to, value.to);
    least_from = std::min(least_from, value.from);
    least_to = std::min(least_to, value.to);
}

void RssTrack::Bounds::join(const Bounds &other) {
    most_from = std::max(most_from, other.most_from);
    most_to = std::max(most_to, other.most_to);
    least_from = std::min(least_from, other.least_from);
    least_to = std::min(least_to, other.least_to);
}

void RssTrack::Bounds::widen(Slack slack) {
    most_from += slack.down;
    most_to += slack.up;
    least_from += slack.down;
    least_to += slack.up;
}

void RssTrack::start(Range value) {
    over_ = all();
    over_.include(value);  // later records are of later steps
    value_ = value;
    first_ = {};
    lanes_.clear();
    first_.include(value);
    running_ = true;
}

void RssTrack::rest() {
    if (!running_) return;
    over_ = all();
    over_.include(value_);
    first_ = {};
    first_.include(value_);
    lanes_.clear();
}

void RssTrack::forget_least() {
    over_.forget_least();
    first_.forget_least();
    for (Last &last : lanes_)
        last.after.forget_least();
    if (running_) newest().include(value_);
}

/// The position of the lane's last record, counted from 1; 0: there is none.
std::size_t RssTrack::of(int lane) const {
    std::size_t i = lanes_.size();
    while (i > 0 && lanes_[i - 1].lane != lane)
        --i;
    return i;
}

/// The same for the task's last record, if no later one of its lane has taken its place.
std::size_t RssTrack::of_task(int task) const {
    std::size_t i = task == kNoTask ? 0 : lanes_.size();
    while (i > 0 && lanes_[i - 1].task != task)
        --i;
    return i;
}

/// The same for the last record up to `t_ns`.
std::size_t RssTrack::at(std::uint64_t t_ns) const {
    std::size_t i = lanes_.size();
    while (i > 0 && lanes_[i - 1].t_ns > t_ns)
        --i;
    return i;
}

void RssTrack::widen_from(std::size_t first, Slack slack) {
    if (!running_) return;
    if (first == 0) first_.widen(slack);
    for (std::size_t i = std::max<std::size_t>(first, 1); i <= lanes_.size(); ++i)
        lanes_[i - 1].after.widen(slack);
}

/// Most readings of a task change nothing.
void RssTrack::widen_lane(Lane lane, Slack slack) {
    if (slack.up != 0 || slack.down != 0) widen_from(of_lane(lane), slack);
}

void RssTrack::widen(Lane lane, std::uint64_t t_ns, Slack slack) {
    if (slack.up != 0 || slack.down != 0) widen_from(std::max(of_lane(lane), at(t_ns)), slack);
}

void RssTrack::drop(std::size_t index) {
    Bounds &before = index == 0 ? first_ : lanes_[index - 1].after;
    before.join(lanes_[index].after);
    lanes_.erase(lanes_.begin() + static_cast<std::ptrdiff_t>(index));
}

void RssTrack::mark(std::uint64_t t_ns, Range value) {
    marked_ns_ = t_ns;
    const int lane = kFirstMark - marks_;
    marks_ = (marks_ + 1) % kMarks;
    if (const std::size_t last = of(lane); last != 0) drop(last - 1);
    lanes_.push_back({lane, kNoTask, t_ns, {}});
    lanes_.back().after.include(value);
}

void RssTrack::record(Lane lane, std::uint64_t t_ns, Range value) {
    if (!running_) return;
    value_ = value;
    newest().include(value);
    if (const std::size_t last = of(lane.own); last != 0) drop(last - 1);
    if (lanes_.size() == kMostLanes) drop(0);
    lanes_.push_back({lane.own, lane.task, t_ns, {}});
    lanes_.back().after.include(value);
    if (t_ns >= marked_ns_ + kMarkNs) mark(t_ns, value);
}

void RssTrack::record(Range value) {
    if (!running_) return;
    value_ = value;
    newest().include(value);
}

RssTrack::Bounds RssTrack::all() const {
    Bounds all = over_;
    all.join(first_);
    for (const Last &last : lanes_)
        all.join(last.after);
    return all;
}

RssTrack::Range RssTrack::most() const {
    const Bounds bounds = all();
    return bounds.most_to == -kNone ? Range{} : Range{bounds.most_from, bounds.most_to};
}

RssTrack::Range RssTrack::least() const {
    const Bounds bounds = all();
    return bounds.least_from == kNone ? Range{} : Range{bounds.least_from, bounds.least_to};
}

}  // namespace rsslag::core
