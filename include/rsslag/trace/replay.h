// SPDX-License-Identifier: BSD-2-Clause
// A recording, judged again: what replay, report and export are made of.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/process_reading.h"
#include "rsslag/core/result.h"
#include "rsslag/core/tick.h"
#include "rsslag/recording/header.h"
#include "rsslag/recording/reader.h"
#include "rsslag/trace/analyzer.h"

namespace rsslag::trace {

struct ReplayOptions {
    std::optional<core::ThreadChoice> threads;  ///< nullopt: as ticks were told when it was recorded
    bool for_screen = false;                    ///< ticks have the flushes since the last one, too
    /// Begin there, which is much sooner; processes are then known from their next reading on, and what their threads
    /// did before is in the baseline.
    std::optional<recording::Position> from;
    bool ended_tasks = false;  ///< as of AnalyzerOptions
    /// Asked now and then, also within a step, with what was unpacked so far as work(); true: step() comes back, and
    /// what it tells is the end.
    std::function<bool(std::uint64_t work)> stop = nullptr;
};

/// What is known at the end.
struct ReplayResult {
    recording::Header header;
    core::Summary summary;                    ///< its `ticks` are those that the observer was given
    bool complete = true;                     ///< all that was written is there, and it was ended
    std::vector<recording::Missing> missing;  ///< of what is not
    std::uint64_t records = 0;                ///< in the file, as its chunks count them
};

/// The greatest lag of any process.
recording::Peak peak_of(const core::Summary &summary);

/// Event by event, for whoever decides when the next one comes.
class Replay {
  public:
    /// `observer` outlives the replay; null: nobody looks. Errors as recording::open_file() and
    /// recording::Reader::open().
    static core::Result<Replay> open(const std::string &path, TraceObserver *observer, const ReplayOptions &options);
    ~Replay();
    Replay(Replay &&) noexcept;
    Replay &operator=(Replay &&) noexcept;

    const recording::Header &header() const;
    const core::SnapshotDocument &facts() const;
    std::vector<recording::Position> positions() const;
    std::optional<recording::Peak> peak() const;
    /// The next event; false: there is none, it is over.
    bool step();
    /// What reading cost so far, in some 10 ns: a number that the same file always comes to.
    std::uint64_t work() const;
    /// No record from before that time (CLOCK_MONOTONIC) is to come any more.
    std::uint64_t complete_until() const;
    /// After the last step.
    ReplayResult finish();

  private:
    struct State;
    explicit Replay(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::trace
