// SPDX-License-Identifier: BSD-2-Clause
// Analyzes a recording again: the basis of replay, report and export.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analyzer.h"
#include "core/process_reading.h"
#include "core/result.h"
#include "core/tick.h"
#include "recording/header.h"
#include "recording/reader.h"

namespace rsslag::analysis {

struct ReplayOptions {
    std::optional<core::ThreadChoice> threads;  ///< nullopt: as in the recorded trace
    bool for_screen = false;                    ///< as AnalyzerOptions::for_screen
    /// Start at this position, to skip the earlier part. Processes are known from their next reading on; earlier
    /// changes by their threads are part of the baseline.
    std::optional<recording::Position> from;
    bool ended_tasks = false;  ///< see AnalyzerOptions
    /// Called occasionally, even within step(), with the cost of reading so far, in the unit of work(). If it returns
    /// true, step() returns and treats this point as the end.
    std::function<bool(std::uint64_t work)> stop = nullptr;
};

/// The result of a replay.
struct ReplayResult {
    recording::Header header;
    core::Summary summary;                    ///< without summary.ticks
    bool complete = true;                     ///< the recording was ended properly, and no part of it is missing
    std::vector<recording::Missing> missing;  ///< the parts that are missing
    std::uint64_t records = 0;                ///< number of records, by the headers of the chunks
};

/// The largest lag of any process.
recording::PeakLag peak_of(const core::Summary &summary);

/// Replays a recording, one event for each call of step().
class Replay {
  public:
    /// `observer` must outlive the replay; may be null. Errors are those of recording::open_file() and
    /// recording::Reader::open().
    static core::Result<Replay> open(const std::string &path, TraceObserver *observer, const ReplayOptions &options);
    ~Replay();
    Replay(Replay &&) noexcept;
    Replay &operator=(Replay &&) noexcept;

    const recording::Header &header() const;
    const core::SnapshotDocument &facts() const;
    std::vector<recording::Position> positions() const;
    std::optional<recording::PeakLag> peak() const;
    /// Applies the next event; false: the end.
    bool step();
    /// The cost of the replay so far, in units of about 10 ns. Deterministic: it depends on the file only.
    std::uint64_t work() const;
    /// Whether ReplayOptions::stop interrupted an event: the result lacks some of its records.
    bool interrupted() const;
    /// All records from before this time (CLOCK_MONOTONIC) have been applied.
    std::uint64_t complete_until() const;
    /// The result. Call it after the last step().
    ReplayResult finish();

  private:
    struct State;
    explicit Replay(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::analysis
