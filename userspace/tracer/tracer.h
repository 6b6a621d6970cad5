// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "analysis/analyzer.h"
#include "core/losses.h"
#include "core/result.h"
#include "core/tick.h"
#include "core/totals.h"
#include "probe/stream.h"
#include "recording/header.h"
#include "recording/writer.h"
#include "tracer/source.h"

namespace rsslag::tracer {

/// A live trace. Reads a Source, makes events of the data, and passes each event to the recordings and to the analyzer.
/// It decides by the analyzer's state what to read next; the analyzer never calls back.
class Tracer {
  public:
    struct Options {
        std::size_t ring_bytes = 0, memory_bytes = 0;  ///< as probe::StreamProbe::Options
        bool follow = false;
        bool counting = false;  ///< --mode counts
        bool dropped = false;   ///< as SnapshotterOptions::dropped
        bool walk = true;
        bool names = false;  ///< trace changes of mappings, for a recording
        core::SampleOptions samples;
        bool calibrated = true;  ///< as SnapshotterOptions::calibrated
        /// As SnapshotterOptions::stop_waiting.
        std::function<bool()> stop_waiting = {};
        core::ThreadChoice threads;
        bool for_screen = false;  ///< as AnalyzerOptions::for_screen
        /// For a screen: if there are more mms and tasks than this, processes at rest do not have a tick each time.
        std::size_t many = 400;
        std::uint64_t rest_after_ns = 2'000'000'000;  ///< time without an update after which a process is at rest
        /// Receives the ticks and, if it needs_records(), the records. Must outlive the tracer; may be null.
        analysis::TraceObserver *observer = nullptr;
    };

    /// Attaches the probes; no process is traced yet. Kind::Unsupported in a build without the tracer; else errors as
    /// probe::StreamProbe::open().
    static core::Result<Tracer> open(Options options);
    /// A tracer of this source, which may be one of a test.
    static Tracer over(std::unique_ptr<Source> source, Options options);

    ~Tracer();
    Tracer(Tracer &&) noexcept;
    Tracer &operator=(Tracer &&) = delete;

    /// Starts to trace a running process. Kind::Gone if it has ended or keeps executing new programs; else errors as
    /// probe::SnapshotProbe::read() and probe::StreamProbe::trace().
    core::Status attach(pid_t pid);
    /// Notes that a process could not be attached, for `why`, unless it has ended: warns once, and adds it to the
    /// summary and to the recording. For processes that the user did not name by PID.
    void not_attached(pid_t pid, const core::Error &why);
    /// Notes that the search for processes that match has failed, in the same way.
    void search_failed(const core::Error &why);
    /// Traces this process, a fork of rsslag, from its exec on.
    core::Status attach_at_exec(pid_t pid);

    /// Also traces processes that match `pattern`, from their next exec on.
    core::Status attach_matching(const probe::Pattern &pattern);
    /// Matches by the cgroup that has the path of the pattern now. The kernel's filter refers to a cgroup, not to its
    /// path, and systemd removes the cgroup of a service that stops and creates another one when the service starts.
    void renew_cgroup();

    /// Processes the records since the last call. Makes the last ticks of processes that have ended.
    void collect();
    /// Reads every traced process, checks the ledger against the readings and makes all ticks.
    void tick();

    /// The next tick walks this process's smaps, even right after another walk; not if Options::walk is off.
    void walk_now(pid_t pid);
    /// Each tick reads the process `pid`, which the screen shows; 0: it shows none.
    void show(pid_t pid);
    /// The next tick reads all processes, also those at rest.
    void read_all();
    /// Machine, kernel and calibration.
    const core::SnapshotDocument &facts() const;
    /// CLOCK_MONOTONIC at the start of the trace.
    std::uint64_t start_ns() const;

    /// Whether any process is traced. An ended process counts until its last tick.
    bool any() const;
    /// The PIDs of all processes that are traced.
    std::unordered_set<pid_t> pids() const;
    /// The number of mms and tasks that are traced.
    std::size_t size() const;
    /// Hooks that are not used, each with the reason.
    const std::vector<std::string> &missing() const;
    /// Losses as of the last collect(), tick() or stop().
    const core::Losses &losses() const;
    /// Processes that match a pattern and were not traced from their start: see analysis::Analyzer::missed().
    const core::Totals &missed() const;
    /// Detaches the probes and processes all records sent. Makes the last ticks of processes that have ended.
    void stop();
    /// Only after stop().
    core::Summary summary();

    /// Records all events from now on, in addition to other recordings. If the trace is running, the recording starts
    /// with events that describe the present state. Makes ticks as collect(). The returned writer stays there until
    /// end_recording().
    recording::Writer &record(recording::Writer writer, recording::Header header);
    /// Starts the next segment of a recording, with events that describe the present state. Makes ticks as collect().
    void next_segment(recording::Writer &writer);
    /// Ends a recording and returns its writer, which the caller can wait for.
    recording::Writer end_recording(recording::Writer &writer);

  private:
    struct State;
    explicit Tracer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::tracer
