// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/host/signals.h"
#include "rsslag/host/targets.h"
#include "rsslag/host/tracer.h"
#include "rsslag/recording/header.h"
#include "rsslag/recording/writer.h"
#include "rsslag/session/tick_writer.h"
#include "rsslag/session/trace_options.h"

namespace rsslag::session {

bool has_pattern(const host::TargetArguments &arguments);
/// What can match more processes later: a number that was typed names one process, not whoever has it by then.
host::TargetArguments patterns_of(const host::TargetArguments &arguments);

inline constexpr const char *kWaitsForFirst = "nothing matches yet; waiting for a process that does";
inline constexpr const char *kWaitsForNext = "all that matched have ended; waiting for the next";

/// One trace from its begin to its end, and the recording of it where one is made.
class Session {
  public:
    Session(const TraceOptions &options, TickWriter &writer, host::StopSignals &stop)
        : options_(options), writer_(writer), stop_(stop), interval_(options.interval) {}

    /// Makes the file of the recording: while rsslag may still give it to its owner.
    core::Status prepare_recording(const std::vector<std::string> &command);
    core::Status open();

    host::Tracer &tracer() { return *tracer_; }
    core::Status head();
    /// Called often while it runs.
    void on_idle(std::function<void(terminal::Screen *)> idle) { idle_ = std::move(idle); }

    /// Ends as soon as this is so, whoever of the targets lives on.
    void end_when(std::function<bool()> ended) { ended_ = std::move(ended); }
    /// Looks at once when this can be read: CMD has ended.
    void wake_by(int fd) { wake_ = fd; }

    /// Where nobody reads what it writes: goes on, as a command's end is waited for. Else that is the end.
    void continue_unread() { continue_unread_ = true; }

    /// Those that will match are found as they exec; what the kernel cannot look for, at the next tick.
    core::Status attach_matching();
    /// Named ones must be there; patterns take what can be had.
    core::Status attach(const std::vector<host::Target> &targets);

    /// Until the targets have gone, rsslag is told to stop or its time is over. With a pattern more may match later, so
    /// that it goes on without any, unless it shall not wait.
    core::Status run();
    bool time_is_over() const { return time_is_over_; }
    bool recording_failed() const { return recording_failed_; }

    void leave_screen() { writer_.leave_screen(); }
    core::Status summary();

  private:
    bool waits_for_targets() const { return has_pattern(options_.targets) && !options_.no_wait; }
    bool wants_to_end() const;
    bool obey(std::chrono::steady_clock::time_point &next);
    core::Status one_tick();
    core::Status take(std::vector<core::Tick> ticks);
    void look_for_targets();
    void report_wait();
    core::Status find_owner(bool later);
    recording::Header header() const;
    void record_or_end(int pid);
    void record_from_here(const std::string &file);
    void notify(std::string notice);
    void show_recording();
    void look_at_ending();
    core::Status look_at_recording();
    void show_progress(const recording::Writer::Progress &progress, bool last);
    recording::Writer *last_recording();
    core::Status finish_recording(const std::optional<recording::Peak> &peak);
    void report_recording(bool done);
    std::chrono::milliseconds pause(std::chrono::steady_clock::time_point begin,
                                    std::chrono::steady_clock::time_point next) const;

    const TraceOptions &options_;
    TickWriter &writer_;
    host::StopSignals &stop_;
    recording::Writer::Options file_options_;
    std::optional<core::Error> cannot_record_;    ///< why `r` cannot
    std::string file_;                            ///< of the recording, or of the last one
    bool by_key_ = false;                         ///< it was begun by `r`
    std::optional<recording::Writer> recording_;  ///< until the tracer has it
    std::optional<recording::Writer> ending_;     ///< by `r`, not written yet
    std::vector<std::string> command_line_;
    std::optional<host::Tracer> tracer_;
    std::function<void(terminal::Screen *)> idle_;
    std::function<bool()> ended_;
    int wake_ = -1;
    std::chrono::milliseconds interval_;
    std::chrono::steady_clock::time_point progress_due_;
    std::optional<std::chrono::steady_clock::time_point> end_due_;
    bool time_is_over_ = false;
    bool had_any_ = false;  ///< targets, since it was last said that there are none
    bool continue_unread_ = false;
    bool recording_failed_ = false;
};

}  // namespace rsslag::session
