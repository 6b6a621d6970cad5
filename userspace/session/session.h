// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/tee.h"
#include "core/result.h"
#include "recording/header.h"
#include "recording/writer.h"
#include "session/keeper.h"
#include "session/live_stacks.h"
#include "session/save_when.h"
#include "session/tick_writer.h"
#include "session/trace_options.h"
#include "system/signals.h"
#include "system/targets.h"
#include "tracer/tracer.h"

namespace rsslag::session {

inline constexpr const char *kWaitsForFirst = "no process matches yet; waiting for one";
inline constexpr const char *kWaitsForNext = "all matching processes have ended; waiting for the next one";

/// One trace from its start to its end, and its recordings, if any.
class Session {
  public:
    Session(const TraceOptions &options, TickWriter &writer, system::StopSignals &stop)
        : options_(options), writer_(writer), stop_(stop), interval_(options.interval) {}

    /// Creates the file of the recording. Must run before capabilities are dropped, since it changes the owner of the
    /// file. Errors as recording::Writer::create().
    core::Status prepare_recording(const std::vector<std::string> &command);
    /// Opens the tracer and starts the recording. Errors as tracer::Tracer::open().
    core::Status open();

    tracer::Tracer &tracer() { return *tracer_; }
    /// Writes the header or opens the screen. `no_match`: no process matches yet.
    core::Status head(bool no_match = false);
    /// run() calls `idle` about every 50 ms. Its argument is null without a screen.
    void on_idle(std::function<void(terminal::Screen *)> idle) { idle_ = std::move(idle); }

    /// run() ends when `ended` returns true, even if targets are still running.
    void end_when(std::function<bool()> ended) { ended_ = std::move(ended); }
    /// run() wakes up when `fd` becomes readable, which means that CMD has ended.
    void wake_by(int fd) { wake_ = fd; }

    /// After this call, run() does not end when the reader of stdout closes it, but waits for the end of CMD.
    void continue_without_reader() { continue_unread_ = true; }

    /// Traces later matches of the patterns from their exec on. For patterns that BPF programs cannot match, run()
    /// searches for processes at each tick.
    core::Status attach_matching();
    /// Traces these processes. Returns the error if a process named by its PID cannot be traced; for others it only
    /// warns.
    core::Status attach(const std::vector<system::Target> &targets);

    /// Runs the trace until all targets have ended, a signal or key stops rsslag, or the duration has passed. If there
    /// is a pattern, it waits for later matches, unless TraceOptions::no_wait is set.
    core::Status run();
    bool time_is_over() const { return time_is_over_; }
    bool recording_failed() const { return recording_failed_; }

    void leave_screen() { writer_.leave_screen(); }
    core::Status summary();

  private:
    bool waits_for_targets() const { return options_.targets.has_pattern() && !options_.no_wait; }
    bool must_end() const;
    bool handle_intents(std::chrono::steady_clock::time_point &next);
    core::Status one_tick();
    core::Status take_ticks();
    void look_for_targets();
    void not_attached(pid_t pid, const core::Error &error);
    void report_wait();
    core::Status find_owner();
    recording::Header header() const;
    void record_or_end(const screen::Record &record);
    void record_by_key(const screen::Record &record);
    recording::Writer::Options later_options() const;
    void keep_last();
    core::Result<Keeper::Taken> save_kept(const std::string &file);
    void look_at_kept();
    void look_at_condition();
    void save(const std::string &reason);
    void end(recording::Writer &writer, const std::string &file);
    void notify(std::string notice);
    void show_recording();
    void look_at_ending();
    core::Status look_at_recording();
    void show_progress(const recording::Writer::Progress &progress, bool last);
    core::Status finish_recordings(const std::optional<recording::PeakLag> &peak);
    void report_recordings();
    std::chrono::milliseconds pause(std::chrono::steady_clock::time_point begin,
                                    std::chrono::steady_clock::time_point next) const;

    const TraceOptions &options_;
    TickWriter &writer_;
    system::StopSignals &stop_;
    recording::Writer::Options file_options_;
    std::optional<core::Error> cannot_record_;    ///< why the key r cannot start a recording
    std::string file_;                            ///< of `present_`
    bool by_key_ = false;                         ///< the key r started it
    std::optional<recording::Writer> recording_;  ///< until it is passed to the tracer
    recording::Writer *present_ = nullptr;        ///< what --record or the key r records
    struct Ending {
        recording::Writer writer;
        std::string file;
    };
    std::deque<Ending> ending_;  ///< ended, not completely written yet
    std::optional<Keeper> keeper_;
    std::optional<SaveWhen> save_when_;
    struct Saving {
        recording::Writer *writer;
        std::string file;
        std::chrono::steady_clock::time_point since, held;  ///< held: the condition held then
    };
    std::optional<Saving> saving_;     ///< started by the condition
    bool condition_was_false_ = true;  ///< since the last time that it held
    std::uint64_t saved_ = 0;
    std::vector<std::string> last_lines_;  ///< about recordings, for the end
    std::vector<std::string> command_line_;
    std::optional<LiveStacks> stacks_;  ///< on a screen, if stacks are sampled
    std::optional<analysis::Tee> with_stacks_, with_condition_;
    std::optional<tracer::Tracer> tracer_;
    std::function<void(terminal::Screen *)> idle_;
    std::function<bool()> ended_;
    int wake_ = -1;
    std::chrono::milliseconds interval_;
    std::chrono::steady_clock::time_point progress_due_;
    std::optional<std::chrono::steady_clock::time_point> end_due_;
    bool time_is_over_ = false;
    bool had_any_ = false;     ///< a target was traced since the last kWaitsForNext
    std::uint64_t taken_ = 0;  ///< number of ticks
    bool continue_unread_ = false;
    bool recording_failed_ = false;
};

}  // namespace rsslag::session
