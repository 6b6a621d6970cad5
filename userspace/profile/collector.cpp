// SPDX-License-Identifier: BSD-2-Clause
#include "collector.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rsslag::profile {
namespace {

/// What samples explain of the exact number. Chance may explain the difference: then the samples stand for all of it.
/// If there are fewer samples than chance allows, the others were lost.
std::int64_t explained(std::int64_t exact, const std::vector<double> &estimates, double variance) {
    constexpr double kDeviations = 4;
    const double sum = std::accumulate(estimates.begin(), estimates.end(), 0.0);
    if (static_cast<double>(exact) <= sum + kDeviations * std::sqrt(variance) + 0.5) return exact;
    return static_cast<std::int64_t>(sum);
}

}  // namespace

void Collector::samples(const core::event::Samples &samples) {
    std::uint64_t number = samples.first;
    for (const core::Sample &sample : samples.samples)
        waiting_[number++].believed = sample.believed;
    profile_.samples += samples.samples.size();
}

void Collector::note(const exporters::UpdateRow &row) {
    if (profile_.period == 0) return;
    if (row.member && !core::in_rss(*row.member)) {
        if (row.sample >= 0) waiting_.erase(static_cast<std::uint64_t>(row.sample));
        return;
    }
    if (row.pages) {
        ThreadFlow &thread = threads_[{row.at.pid, row.at.tid}];
        thread.pid = row.at.pid;
        thread.tid = row.at.tid;
        thread.comm = row.at.comm;
        thread.exact.add(*row.pages);
    }
    if (row.sample < 0) return;
    const auto found = waiting_.find(static_cast<std::uint64_t>(row.sample));
    if (found == waiting_.end() || !row.pages || found->second.believed == 0) return;
    Waiting &sample = found->second;
    sample.pages = *row.pages;
    sample.pid = row.at.pid;
    sample.tid = row.at.tid;
    complete(found);
}

void Collector::complete(std::unordered_map<std::uint64_t, Waiting>::iterator at) {
    const Waiting &sample = at->second;
    if (!sample.pages || !sample.stack) return;
    Estimates &estimates = estimates_[{sample.pid, sample.tid}];
    Estimate &estimate = estimates.by_stack[*sample.stack];
    const double probability = core::inclusion(sample.believed, profile_.period);
    const double pages = std::abs(static_cast<double>(sample.pages->n)) / probability;
    const bool is_loss = sample.pages->n < 0;
    (is_loss ? estimate.went : estimate.came) += pages;
    (is_loss ? estimates.went_variance : estimates.came_variance) += pages * pages * (1 - probability);
    estimate.samples++;
    waiting_.erase(at);
}

std::uint32_t Collector::frame_number(const core::StackFrame &frame) {
    const auto [found, is_new] = frames_.try_emplace(frame, static_cast<std::uint32_t>(profile_.frames.size()));
    if (is_new) profile_.frames.push_back(frame);
    return found->second;
}

std::size_t Collector::stack_number(const core::CallStack &stack, const std::vector<core::StackFrame> &frames) {
    core::CallStack own{{}, stack.end};
    for (const std::uint32_t frame : stack.frames)
        own.frames.push_back(frame_number(frames[frame]));
    const auto [found, is_new] = stacks_.try_emplace(own, profile_.stacks.size());
    if (is_new) profile_.stacks.push_back(std::move(own));
    return found->second;
}

void Collector::stacks(const core::event::Stacks &stacks) {
    profile_.lost = stacks.lost;
    std::vector<std::optional<std::size_t>> numbers(stacks.stacks.size());
    for (std::size_t i = 0; i < stacks.of.size(); ++i) {
        const auto found = waiting_.find(stacks.first + i);
        if (found == waiting_.end()) continue;
        const std::uint32_t stack = stacks.of[i];
        if (!numbers[stack]) numbers[stack] = stack_number(stacks.stacks[stack], stacks.frames);
        found->second.stack = numbers[stack];
        complete(found);
    }
}

void Collector::put_thread(ThreadFlow &thread, const Estimates &estimates) {
    std::vector<double> came, went;
    for (const auto &[stack, estimate] : estimates.by_stack) {
        came.push_back(estimate.came);
        went.push_back(estimate.went);
    }
    const auto pages_came = apportion(explained(thread.exact.came, came, estimates.came_variance), came);
    const auto pages_went = apportion(explained(thread.exact.went, went, estimates.went_variance), went);
    thread.unexplained = thread.exact;
    std::size_t i = 0;
    for (const auto &[stack, estimate] : estimates.by_stack) {
        profile_.flows.push_back({stack, thread.pid, thread.tid, {pages_came[i], pages_went[i], estimate.samples}});
        thread.unexplained.came -= pages_came[i];
        thread.unexplained.went -= pages_went[i];
        ++i;
    }
}

Profile Collector::take() {
    profile_.unmatched = waiting_.size();
    for (auto &[task, thread] : threads_) {
        put_thread(thread, estimates_[task]);
        profile_.threads.push_back(std::move(thread));
    }
    std::stable_sort(profile_.flows.begin(), profile_.flows.end(),
                     [](const StackFlow &a, const StackFlow &b) { return a.flow.size() > b.flow.size(); });
    return std::move(profile_);
}

}  // namespace rsslag::profile
