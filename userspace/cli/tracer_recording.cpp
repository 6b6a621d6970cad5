// SPDX-License-Identifier: BSD-2-Clause
// How a recording of a trace begins, at its begin or in its midst.
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <iterator>

#include "tracer_state.h"

namespace rsslag::cli {
namespace {

using recording::Ask;
using std::chrono::duration_cast;
using std::chrono::nanoseconds;

std::int64_t unix_ns(std::chrono::system_clock::time_point time) {
    return duration_cast<nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

/// With `all`, nullopt where a process is just ending or becoming another program, which the stream will have told of
/// in a moment.
std::optional<KnownState> Tracer::State::read_known(bool all) {
    KnownState known;
    Source &kernel = recorder->unrecorded();
    const auto take = [&](Ask ask, int pid, std::uint64_t mm) {
        auto counters = kernel.read_counters(pid);
        if (!counters || counters->counters.mm != mm) return false;
        const std::vector<int> tids = host_tids(counters->counters);
        const auto faults = faults_item(tids, kernel.faults(tids));
        known.groups.push_back({ask, pid, std::move(*counters), faults});
        return true;
    };
    for (const core::GroupView &group : ledger->groups()) {
        if (group.tgid == 0) continue;  // no PID to read it by
        if (!take(Ask::Attach, group.tgid, group.mm) && all) return std::nullopt;
    }
    for (const auto &[host_tgid, awaited] : at_exec) {
        if (!take(Ask::AttachAtExec, awaited.tgid, awaited.mm) && all) return std::nullopt;
    }
    order.waiting([&known](std::size_t cpu, std::span<const std::byte> bytes) {
        known.waiting.push_back({static_cast<std::uint32_t>(cpu), {bytes.begin(), bytes.end()}});
    });
    return known;
}

/// `amid`: of a trace that goes on.
void Tracer::State::begin_header(bool amid) {
    Source &kernel = recorder->unrecorded();
    timespec up{};
    clock_gettime(CLOCK_BOOTTIME, &up);
    recorded.start_ns = amid ? kernel.now_ns() : start_ns;
    const auto now = kernel.time();
    const std::uint64_t now_ns = kernel.now_ns();
    recorded.start_unix_ns = unix_ns(now) - static_cast<std::int64_t>(now_ns - recorded.start_ns);
    recorded.boot_unix_ns = unix_ns(now) - std::int64_t{up.tv_sec} * 1'000'000'000;
}

/// What was sent and lost without what is sent from now on, or has not been taken in yet.
core::Losses Tracer::State::losses_so_far() {
    core::Losses so_far = recorder->unrecorded().losses();
    so_far.sent = order.records() + so_far.lost();
    return so_far;
}

/// A recording has no walk from before it began, so its first ticks come with one, unless that would cost too much.
void Tracer::State::forget_walks() {
    for (auto &[host_tgid, entry] : traced) {
        const auto took_us = entry.walked && entry.walked->walk ? entry.walked->walk->took_us : 0;
        const std::uint64_t soonest = entry.walked_ns + kWalkCostsAtMost * static_cast<std::uint64_t>(took_us) * 1000;
        entry.next_walk_ns = std::min(entry.next_walk_ns, soonest);
        entry.walked.reset();
    }
}

std::vector<view::Tick> Tracer::record(recording::Writer writer, recording::Header header) {
    State &state = *state_;
    if (state.recorder == nullptr) return {};
    const Options &options = state.options;
    header.kernel = state.facts.kernel;
    header.arch = state.facts.arch;
    header.machine = state.facts.machine;
    header.calibration = state.facts.calibration;
    header.missing_hooks = missing();
    header.clock_ticks = sysconf(_SC_CLK_TCK);
    header.id_key = state.id_key;
    header.follow = options.follow;
    header.counting = options.counting;
    header.walk = options.walk;
    state.recorded = std::move(header);
    const bool amid = any() || state.order.records() > 0;
    if (amid)
        return begin_amid([&](const KnownState &known, const core::Losses & /*until_now*/) {
            state.recorder->record(std::move(writer), state.recorded, known);
        });
    state.begin_header(false);
    state.recorder->record(std::move(writer), state.recorded, {});
    return {};
}

std::vector<view::Tick> Tracer::next_segment() {
    State &state = *state_;
    if (recording() == nullptr) return {};
    state.recorded.segment++;
    return begin_amid([&state](const KnownState &known, const core::Losses &until_now) {
        state.recorder->next(state.recorded, known, until_now);
    });
}

std::vector<view::Tick> Tracer::begin_amid(
    const std::function<void(const KnownState &known, const core::Losses &until_now)> &begin) {
    State &state = *state_;
    constexpr int kTries = 8;
    std::vector<view::Tick> ended;
    std::optional<KnownState> known;
    for (int left = kTries - 1; !known; --left) {
        auto ticks = collect();
        ended.insert(ended.end(), std::make_move_iterator(ticks.begin()), std::make_move_iterator(ticks.end()));
        state.begin_header(true);
        // What has ended and is not told yet would be of the old segment, and told in the new one.
        if (left == 0 || !state.ledger->leaving()) known = state.read_known(left > 0);
        if (!known) state.source->wait_until(state.recorded.start_ns + 2 * kLateNs);
    }
    const core::Losses until_now = state.losses_so_far();
    core::TimeOrder waiting;
    for (const recording::Records &records : known->waiting)
        waiting.add(records.bytes);
    state.recorded.before = until_now;
    state.recorded.before.sent -= waiting.records();
    begin(*known, until_now);
    state.forget_walks();
    return ended;
}

recording::Writer *Tracer::recording() {
    return state_->recorder == nullptr ? nullptr : state_->recorder->writer();
}

std::optional<recording::Writer> Tracer::end_recording() {
    if (recording() == nullptr) return std::nullopt;
    const auto known = state_->read_known(false);
    return state_->recorder->end(known.value_or(KnownState{}), state_->losses_so_far());
}

}  // namespace rsslag::cli
