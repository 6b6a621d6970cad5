// SPDX-License-Identifier: BSD-2-Clause
#include "session/session.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "analysis/replay.h"
#include "session/live_view.h"

namespace rsslag::session {

using core::Status;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

Status Session::open() {
    tracer::Tracer::Options chosen;
    chosen.ring_bytes = options_.ring_bytes;
    chosen.memory_bytes = options_.memory_bytes;
    chosen.follow = options_.follow;
    chosen.counting = options_.mode == "counts";
    chosen.walk = !options_.no_walk;
    // On the screen a key starts a recording.
    const bool recorded = recording_.has_value() || writer_.on_screen() || !options_.save_when.empty();
    chosen.names = recorded && !options_.no_names;
    chosen.samples = options_.samples;
    chosen.samples.ring_bytes = std::max(chosen.samples.ring_bytes, options_.ring_bytes);
    chosen.calibrated = recorded;  // lines do not show which files are exact
    chosen.threads = options_.threads;
    chosen.stop_waiting = [this] { return must_end(); };
    chosen.for_screen = writer_.on_screen();
    chosen.observer = &writer_;
    if (writer_.on_screen() && options_.samples.period > 0) {
        stacks_.emplace(options_.samples.period);
        chosen.observer = &with_stacks_.emplace(writer_, *stacks_);
    }
    if (!options_.save_when.empty()) {
        chosen.rest_after_ns = kGrowthOfNs + 1'000'000'000;
        chosen.observer = &with_condition_.emplace(*chosen.observer, save_when_.emplace(options_.save_when));
    }
    auto tracer = tracer::Tracer::open(chosen);
    if (!tracer) return tracer.error();
    tracer_.emplace(std::move(*tracer));
    if (stacks_) stacks_->begin(tracer_->start_ns());
    writer_.begin_queue();
    if (recording_) present_ = &tracer_->record(std::move(*std::exchange(recording_, std::nullopt)), header());
    keep_last();
    for (const std::string &hook : tracer_->missing())
        spdlog::info("tracing continues without {}", hook);
    return core::success();
}

Status Session::head(bool no_match) {
    screen::ScreenFacts facts = screen_facts(tracer_->facts(), interval_, !options_.no_walk, false);
    facts.history_ns = static_cast<std::uint64_t>(options_.history.count()) * 1'000'000;
    facts.kept = options_.keep;
    facts.no_match = no_match;
    facts.sample_period = options_.samples.period;
    Status written = writer_.head(std::move(facts));
    if (written && present_ != nullptr) present_->keep();
    show_recording();
    return written;
}

Status Session::attach_matching() {
    const auto pattern = system::pattern_of(options_.targets);
    if (!pattern) return pattern.error();
    return *pattern ? tracer_->attach_matching(**pattern) : core::success();
}

Status Session::attach(const std::vector<system::Target> &targets) {
    const std::unordered_set<pid_t> traced = tracer_->pids();
    for (const system::Target &target : targets) {
        if (traced.contains(target.pid)) continue;
        const Status attached = tracer_->attach(target.pid);
        if (attached) continue;
        if (target.named) return system::why_not_read(target.pid, attached.error());
        not_attached(target.pid, attached.error());
    }
    return core::success();
}

void Session::not_attached(pid_t pid, const core::Error &error) {
    const core::Error why = system::why_not_read(pid, error);
    spdlog::debug("{}: {}", pid, why.what);
    tracer_->not_attached(pid, why);
}

bool Session::must_end() const {
    terminal::Screen *const screen = writer_.screen();
    return stop_.stop_requested() || (end_due_ && Clock::now() >= *end_due_) ||
           (screen != nullptr && screen->asked_to_quit());
}

Status Session::run() {
    const auto begin = Clock::now();
    if (options_.duration) end_due_ = begin + *options_.duration;
    auto next = begin;
    bool over = false;
    while (!over) {
        const auto now = Clock::now();
        time_is_over_ = options_.duration && now - begin >= *options_.duration;
        if (time_is_over_) break;
        if (now >= next) {
            if (Status done = one_tick(); !done) return done;
            // Ticks that were missed are skipped.
            next = std::max(next + interval_, Clock::now());
        }
        over = stop_.wait(pause(begin, next), &wake_) || (!continue_unread_ && writer_.unread());
        tracer_->collect();
        if (Status done = take_ticks(); !done) return done;
        if (Status done = look_at_recording(); !done) return done;
        if (idle_) idle_(writer_.screen());
        over = over || (ended_ && ended_());
        if (writer_.on_screen()) {
            over = over || handle_intents(next);
        } else if (!tracer_->any() && !waits_for_targets()) {
            return core::success();
        }
        report_wait();
    }
    tracer_->tick();
    if (Status done = writer_.flush(); !done) return done;
    tracer_->collect();  // processes that ended during the last tick's readings
    return writer_.flush();
}

Status Session::summary() {
    look_at_condition();
    tracer_->stop();
    if (Status done = writer_.flush(); !done) return done;
    core::Summary summary = tracer_->summary();
    const recording::PeakLag peak = analysis::peak_of(summary);
    Status written = writer_.summary(std::move(summary));
    // First the recording: the output's reader may not read any more.
    const Status recorded = finish_recordings(peak);
    if (written) written = writer_.finish([this] { return stop_.stop_requested(); });
    report_recordings();
    return written ? recorded : written;
}

/// Handles the intents of the screen's keys; returns whether the trace must end.
bool Session::handle_intents(Clock::time_point &next) {
    for (const screen::Intent &intent : writer_.screen()->intents()) {
        if (std::holds_alternative<screen::Quit>(intent)) return true;
        if (std::holds_alternative<screen::ReadAll>(intent)) tracer_->read_all();
        if (const auto *const walk = std::get_if<screen::WalkNow>(&intent)) {
            tracer_->walk_now(walk->pid);
            next = Clock::now();
        }
        if (const auto *const show = std::get_if<screen::Show>(&intent)) tracer_->show(show->pid);
        if (const auto *const interval = std::get_if<screen::SetInterval>(&intent)) {
            interval_ = interval->interval;
            next = std::min(next, Clock::now() + interval_);
        }
        if (const auto *const record = std::get_if<screen::Record>(&intent)) record_or_end(*record);
    }
    return false;
}

Status Session::one_tick() {
    if (waits_for_targets() || (options_.targets.has_pattern() && tracer_->any())) look_for_targets();
    tracer_->tick();
    return take_ticks();
}

Status Session::take_ticks() {
    const bool any_tick = std::exchange(taken_, writer_.ticks()) != writer_.ticks();
    had_any_ = had_any_ || any_tick || tracer_->any();
    if (any_tick && stacks_ && writer_.screen() != nullptr) post_stacks(*writer_.screen(), *stacks_);
    return writer_.flush();
}

/// Reports once, after the last target has ended, that rsslag waits for the next.
void Session::report_wait() {
    if (tracer_->any() || !std::exchange(had_any_, false)) return;
    if (waits_for_targets()) notify(kWaitsForNext);
}

void Session::look_for_targets() {
    tracer_->renew_cgroup();
    const auto found = system::matching(options_.targets, tracer_->pids());
    if (!found) return tracer_->search_failed(found.error());
    for (const pid_t pid : *found) {
        if (const Status attached = tracer_->attach(pid); !attached) not_attached(pid, attached.error());
    }
}

/// How long to wait: at most 50 ms, so that few records wait to be processed.
milliseconds Session::pause(Clock::time_point begin, Clock::time_point next) const {
    constexpr milliseconds kAtMost{50};
    auto until = next;
    if (options_.duration) until = std::min(until, begin + *options_.duration);
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    return std::clamp(left, milliseconds{0}, kAtMost);
}

}  // namespace rsslag::session
