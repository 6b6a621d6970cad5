// SPDX-License-Identifier: BSD-2-Clause
// Turns the events of a trace into ticks: applies them to the ledger and compares the ledger with the exact readings.
// Pure: no clock, no system call, no query to the source. The same events always give the same ticks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/observer.h"
#include "core/event.h"
#include "core/ledger.h"
#include "core/losses.h"
#include "core/mm_id.h"
#include "core/raw_reading.h"
#include "core/scheme.h"
#include "core/tick.h"
#include "core/totals.h"
#include "rsslag/abi.h"
#include "started.h"

namespace rsslag::analysis {

/// Facts known before the first event.
struct Facts {
    core::Machine machine;
    core::Calibration calibration;
    std::string kernel;   ///< uname -r
    core::IdKey id_key;   ///< key of mm_id()
    event::Moment start;  ///< start of the trace; times in ticks are relative to it
    core::Losses before;  ///< losses before the first event
};

struct AnalyzerOptions {
    core::ThreadChoice threads;
    /// Ticks also contain the last flushes or folds, recent growth and the tasks of the reading (`thread` scheme).
    bool for_screen = false;
    /// Ticks list each task that has ended since the previous tick of the mm; if there are very many, those with the
    /// largest changes.
    bool ended_tasks = false;
    bool counting = false;              ///< --mode counts
    bool ended_mms = false;             ///< as core::Ledger::Options
    TraceObserver *observer = nullptr;  ///< must outlive the analyzer; may be null
    /// Called occasionally, even within apply(), with work(). If it returns true, the rest of the event and all later
    /// records are dropped.
    std::function<bool(std::uint64_t work)> stop = nullptr;
};

/// A group whose exec is awaited.
struct Awaited {
    int host_tgid = 0;
    int tgid = 0;
    std::uint64_t mm = 0;  ///< the mm that the exec leaves
};

struct EndedProcess {
    int host_pid = 0;
    int pid = 0;
};

class Analyzer {
  public:
    Analyzer(Facts facts, AnalyzerOptions options);
    ~Analyzer();
    Analyzer(Analyzer &&) noexcept;
    Analyzer &operator=(Analyzer &&) noexcept;

    /// Applies an event. The observer receives the ticks that it completes: the last ticks of processes that have ended
    /// (Watermark, Stop), or the ticks of all processes that were read (TickEnd).
    void apply(event::Event event);

    /// The summary; nullopt before event::End.
    const std::optional<core::Summary> &summary() const;

    // The current state, for screens and for deciding what to read next.

    const Facts &facts() const;
    /// The cost of all events so far, in units of about 10 ns. Deterministic: it depends on the events only.
    std::uint64_t work() const;
    /// Whether AnalyzerOptions::stop has returned true: records are missing from the last event on.
    bool interrupted() const;
    /// `until_ns` of the last Watermark.
    std::uint64_t complete_until() const;
    /// Size of records and mapping changes that no Watermark has covered yet.
    std::size_t waiting_bytes() const;
    /// As Ledger::updates().
    std::uint64_t updates(std::uint64_t mm) const;
    /// The number of mms and tasks that are traced.
    std::size_t size() const;
    /// Living groups, ascending by the kernel's TGID.
    std::vector<core::GroupView> groups() const;
    /// Living groups without a baseline.
    std::vector<core::GroupView> unknown() const;
    /// Groups whose exec is awaited, ascending by the kernel's TGID.
    std::vector<Awaited> awaited() const;
    /// Host TGIDs and mms of groups that the last event has adopted, since the records of their start were lost. The
    /// BPF programs may not trace them yet.
    const std::vector<std::pair<int, std::uint64_t>> &adopted() const;
    /// Processes whose last tick the last event has completed.
    const std::vector<EndedProcess> &ended() const;
    /// The kernel's TIDs of tasks in traced mms and of tasks that start in records not covered by a Watermark yet;
    /// ascending.
    std::vector<int> tids() const;
    /// Whether any process is traced or awaited, or has ended with its last tick still to come.
    bool any() const;
    /// Whether processes have ended whose last tick is still to come.
    bool leaving() const;
    /// Ledger::building().
    bool building() const;
    /// The number of failed readings of living processes.
    std::uint64_t readings_failed() const;
    /// Losses as of the last event that counted them.
    const core::Losses &losses() const;
    /// The part of the totals so far that counts processes matching a pattern. The other totals are in the summary.
    const core::Totals &missed() const;
    /// The number of records received.
    std::uint64_t records() const;
    /// Counters at execs whose records are among waiting().
    std::vector<event::AtExec> awaiting_exec() const;
    /// Records not covered by a Watermark yet.
    std::vector<event::Records> waiting() const;
    /// Processes whose trace starts with a record received since the last call.
    std::vector<Started> take_started();
    /// As core::Ledger::take_ended_mms().
    std::vector<std::uint64_t> take_ended_mms();
    /// The PIDs, in rsslag's PID namespace, of these traced tasks, by the kernel's TID. Includes tasks that start in
    /// records not covered by a Watermark yet.
    std::unordered_map<int, int> pids_of(const std::vector<int> &host_tids) const;
    /// The latest moment of any event.
    event::Moment last_moment() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::analysis
