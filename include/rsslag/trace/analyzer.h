// SPDX-License-Identifier: BSD-2-Clause
// A trace's events in, ticks out: the ledger, and the exact readings that it is checked against, put together. Pure: no
// clock, no system call, no question; the same events always make the same ticks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rsslag/abi.h"
#include "rsslag/core/event.h"
#include "rsslag/core/ledger.h"
#include "rsslag/core/losses.h"
#include "rsslag/core/raw_reading.h"
#include "rsslag/core/scheme.h"
#include "rsslag/core/tick.h"
#include "rsslag/trace/observer.h"

namespace rsslag::trace {

/// Around a reading, what the ledger held is asked for this much wider.
inline constexpr std::uint64_t kWiderNs = 1'000'000;

/// What is known before the first event.
struct Facts {
    core::Machine machine;
    core::Calibration calibration;
    std::string kernel;        ///< uname -r
    std::uint64_t id_key = 0;  ///< what mm_id() mixes addresses with
    event::Moment start;       ///< when the trace began: times are told since then
    core::Losses before;       ///< of what is told by Losses, what was counted before these events begin
};

struct AnalyzerOptions {
    core::ThreadChoice threads;
    /// Ticks tell what no document has: the last flushes or folds, each task's faults since its last flush.
    bool for_screen = false;
    /// Ticks list each task that has ended since the previous tick of the mm; of very many, those that changed most.
    bool ended_tasks = false;
    TraceObserver *observer = nullptr;  ///< outlives the analyzer, which calls all but on_tick(); null: nobody looks
};

/// A group whose exec is awaited.
struct Awaited {
    int host_tgid = 0;
    int tgid = 0;
    std::uint64_t mm = 0;  ///< the one that it leaves
};

class Analyzer {
  public:
    Analyzer(Facts facts, AnalyzerOptions options);
    ~Analyzer();
    Analyzer(Analyzer &&) noexcept;
    Analyzer &operator=(Analyzer &&) noexcept;

    /// What comes of the event: last ticks of processes that have ended by a Watermark or a Stop, all ticks by a
    /// TickEnd.
    std::vector<core::Tick> apply(event::Event event);

    /// After End.
    const std::optional<core::Summary> &summary() const;

    // What is known, for whoever decides what is to be read next, and for screens.

    const Facts &facts() const;
    /// What the events so far cost, in some 10 ns: a number that the same events always come to.
    std::uint64_t work() const;
    /// Of the last Watermark.
    std::uint64_t complete_until() const;
    /// Of records that no Watermark has reached yet.
    std::size_t waiting_bytes() const;
    /// Groups that live, ascending by the kernel's TGID.
    std::vector<core::GroupView> groups() const;
    /// Of these, those with no baseline yet.
    std::vector<core::GroupView> unknown() const;
    /// Ascending by the kernel's TGID.
    std::vector<Awaited> awaited() const;
    /// Groups and their mms whose begin was lost and that the last event has taken up: the kernel may not know of them.
    const std::vector<std::pair<int, std::uint64_t>> &taken_up() const;
    /// The kernel's TIDs of the tasks that live in traced mms, and of those that begin among records which no Watermark
    /// has reached yet; ascending.
    std::vector<int> tids() const;
    /// Whether any process is traced or awaited, an ended one until its last tick included.
    bool any() const;
    /// Whether processes have ended whose last tick is to come.
    bool leaving() const;
    /// Of processes that were there.
    std::uint64_t readings_failed() const;
    /// As they were told last.
    const core::Losses &losses() const;
    /// That have come.
    std::uint64_t records() const;
    /// Records that no Watermark has reached yet.
    std::vector<event::Records> waiting() const;
    /// Processes that begin to be traced among the records that came since the last call, in rsslag's PID namespace.
    std::vector<int> take_begun();
    /// The latest that any event has told.
    event::Moment last_moment() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::trace
