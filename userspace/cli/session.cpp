// SPDX-License-Identifier: BSD-2-Clause
#include "session.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "command.h"
#include "exit_status.h"
#include "live_view.h"
#include "privileges.h"
#include "rsslag/procfs/process.h"
#include "version.h"

namespace rsslag::cli {

using core::Status;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

/// What can match more processes later: a number that was typed names one process, not whoever has it by then.
TargetWords patterns_of(const TargetWords &words) {
    TargetWords patterns = words;
    patterns.words.clear();
    patterns.pids.clear();
    return patterns;
}

std::string host_name() {
    utsname name{};
    return uname(&name) == 0 ? name.nodename : "";
}

}  // namespace

bool has_pattern(const TargetWords &words) {
    return !words.comms.empty() || words.cgroup || words.user;
}

Status Session::prepare_recording(const std::vector<std::string> &command) {
    if (options_.recording.empty()) return core::success();
    recording::Writer::Options wanted;
    wanted.force = options_.force;
    wanted.sync = options_.sync;
    wanted.max_bytes = options_.max_bytes;
    const auto user = invoking_user();
    if (!user) return user.error();
    if (*user) wanted.owner = recording::Owner{(*user)->uid, (*user)->gid};
    if (*user && options_.max_bytes) {  // later segments are made without any right to give them to their owner
        if (Status may = may_become((*user)->uid, (*user)->gid); !may) return may;
        wanted.as_owner = true;
    }
    auto writer = recording::Writer::create(options_.recording, wanted);
    if (!writer) return writer.error();
    recording_.emplace(std::move(*writer));
    command_line_ = options_.command_line;
    if (!command.empty()) command_line_.emplace_back("--");
    command_line_.insert(command_line_.end(), command.begin(), command.end());
    return core::success();
}

Status Session::open() {
    Tracer::Options wanted;
    wanted.ring_bytes = options_.ring_bytes;
    wanted.follow = options_.follow;
    wanted.counting = options_.mode == "counts";
    wanted.walk = !options_.no_walk;
    wanted.threads = options_.threads;
    wanted.for_screen = writer_.on_screen();
    if (options_.events) {
        wanted.on_update = [this](const view::EventLine &line) { writer_.event(line); };
        wanted.on_task = [this](const view::TaskLine &line) { writer_.task(line); };
    }
    auto tracer = Tracer::open(std::move(wanted));
    if (!tracer) return tracer.error();
    tracer_.emplace(std::move(*tracer));
    if (recording_) {
        recording::Header header;
        header.writer = version_text().substr(0, version_text().find(','));
        header.host = host_name();
        header.command_line = command_line_;
        header.interval_ms = static_cast<std::uint64_t>(interval_.count());
        // What reads the recording wants all threads, where nobody said which.
        header.threads = static_cast<std::uint8_t>(options_.words.threads.empty() ? view::ThreadChoice::Which::All
                                                                                  : options_.threads.which);
        header.threads_top = options_.threads.top;
        std::ignore = tracer_->record(std::move(*std::exchange(recording_, std::nullopt)), std::move(header));
    }
    for (const std::string &hook : tracer_->missing())
        spdlog::info("tracing goes on without {}", hook);
    return core::success();
}

Status Session::head() {
    return writer_.head(screen_facts(tracer_->facts(), interval_, !options_.no_walk, false));
}

Status Session::attach_matching() {
    const auto pattern = pattern_of(options_.targets);
    if (!pattern) return pattern.error();
    return *pattern ? tracer_->attach_matching(**pattern) : core::success();
}

Status Session::attach(const std::vector<Target> &targets) {
    for (const Target &target : targets) {
        if (tracer_->traces(target.pid)) continue;
        const Status attached = tracer_->attach(target.pid);
        if (attached) continue;
        if (target.named) {
            const auto process = procfs::Process::open(target.pid);
            return process ? why_unreadable(*process).value_or(attached.error()) : process.error();
        }
        spdlog::debug("{}: {}", target.pid, attached.error().what);
    }
    return core::success();
}

Status Session::run(bool wait_for_targets) {
    const auto begin = Clock::now();
    auto next = begin;
    bool over = false;
    while (!over) {
        const auto now = Clock::now();
        time_is_over_ = options_.duration && now - begin >= *options_.duration;
        if (time_is_over_) break;
        if (now >= next) {
            if (Status done = one_tick(wait_for_targets); !done) return done;
            // Late ticks are not made up for.
            next = std::max(next + interval_, Clock::now());
            wait_for_targets = wait_for_targets && !tracer_->any();
        }
        over = stop_.wait(pause(begin, next));
        if (Status done = writer_.ticks(tracer_->collect()); !done) return done;
        if (Status done = look_at_recording(); !done) return done;
        if (idle_) idle_(writer_.screen());
        if (writer_.on_screen()) {
            over = over || obey(next);
        } else if (!tracer_->any() && !wait_for_targets) {
            return core::success();
        }
    }
    if (Status done = writer_.ticks(tracer_->tick()); !done) return done;
    return writer_.ticks(tracer_->collect());  // of what ended while the others were read
}

Status Session::summary() {
    if (Status done = writer_.ticks(tracer_->stop()); !done) return done;
    if (Status told = writer_.summary(tracer_->summary()); !told) return told;
    return finish_recording();
}

/// One that cannot go on ends `record`; `live` goes on without it.
Status Session::look_at_recording() {
    recording::Writer *const recording = tracer_->recording();
    if (recording == nullptr || recording_failed_) return core::success();
    const recording::Writer::Progress progress = recording->progress();
    if (progress.failed) {
        recording_failed_ = true;
        if (writer_.format() == Format::Progress) return *progress.failed;
        if (writer_.screen() != nullptr) {
            post_notice(*writer_.screen(), progress.failed->what);
        } else {
            complain(progress.failed->what);
        }
        return core::success();
    }
    if (writer_.format() == Format::Progress) show_progress(progress, false);
    return progress.full ? writer_.ticks(tracer_->next_segment()) : core::success();
}

/// On a terminal one line that is written over, else one now and then.
void Session::show_progress(const recording::Writer::Progress &progress, bool last) {
    const bool terminal = isatty(STDERR_FILENO) == 1;
    const auto now = Clock::now();
    const bool due = progress_due_ != Clock::time_point{} && now >= progress_due_;
    if (due || progress_due_ == Clock::time_point{})
        progress_due_ = now + (terminal ? milliseconds{1000} : milliseconds{10'000});
    if (!last && !due) return;
    if (spdlog::get_level() >= spdlog::level::err) return;
    const std::uint64_t lost = tracer_->losses().lost() + progress.records_lost;
    const std::string line =
        fmt::format("{}{} events, {:.1f} MiB, {} lost{}", terminal ? "\r" : "", progress.records,
                    static_cast<double>(progress.bytes) / (1 << 20), lost, terminal && !last ? "\033[K" : "\n");
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

Status Session::finish_recording() {
    recording::Writer *const recording = tracer_->recording();
    if (recording == nullptr) return core::success();
    const Status done = recording->finish();
    const recording::Writer::Progress progress = recording->progress();
    if (writer_.format() == Format::Progress) show_progress(progress, true);
    if (progress.items_lost > 0) {
        complain(
            fmt::format("the recording lacks {} events: it could not be written fast enough", progress.records_lost));
    }
    // Without a screen it has been said when it happened.
    return recording_failed_ && !writer_.on_screen() ? core::success() : done;
}

/// What keys asked for; whether that is the end.
bool Session::obey(Clock::time_point &next) {
    for (const view::Intent &intent : writer_.screen()->intents()) {
        if (std::holds_alternative<view::Quit>(intent)) return true;
        if (const auto *const walk = std::get_if<view::WalkNow>(&intent)) {
            tracer_->walk_now(walk->pid);
            next = Clock::now();
        }
        if (const auto *const interval = std::get_if<view::SetInterval>(&intent)) {
            interval_ = interval->interval;
            next = std::min(next, Clock::now() + interval_);
        }
    }
    return false;
}

Status Session::one_tick(bool wait_for_targets) {
    if (wait_for_targets || (has_pattern(options_.targets) && tracer_->any())) look_for_targets();
    return writer_.ticks(tracer_->tick());
}

void Session::look_for_targets() {
    const auto targets = resolve(patterns_of(options_.targets));
    if (!targets) return;  // nothing that matches, as yet
    if (const Status attached = attach(*targets); !attached) spdlog::debug("{}", attached.error().what);
}

/// Records are taken in often enough that few wait.
milliseconds Session::pause(Clock::time_point begin, Clock::time_point next) const {
    constexpr milliseconds kAtMost{50};
    auto until = next;
    if (options_.duration) until = std::min(until, begin + *options_.duration);
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    return std::clamp(left, milliseconds{0}, kAtMost);
}

}  // namespace rsslag::cli
