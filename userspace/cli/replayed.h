// SPDX-License-Identifier: BSD-2-Clause
// A recording, judged again: what replay, report and export are made of.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/recording/header.h"
#include "rsslag/recording/reader.h"
#include "rsslag/view/tick.h"
#include "tracer.h"

namespace rsslag::cli {

/// Called in the order in which things were told; null: nobody looks. Times named t_ns are since Header::start_ns,
/// those within records and readings are CLOCK_MONOTONIC.
struct ReplayHandlers {
    /// Each update of a traced process, with its names: as live --events shows it. Slower than on_applied.
    std::function<void(const view::EventLine &)> on_update;
    /// Every update as it came, also of mms that are not known (then Applied::known is false).
    std::function<void(const rsslag_update &, const core::Applied &)> on_applied;
    std::function<void(const view::TaskLine &)> on_task;
    std::function<void(const rsslag_fault &)> on_fault;
    std::function<void(const rsslag_sum &)> on_sum;
    std::function<void(const core::RawReading &)> on_reading;
    /// More was lost than before, in the kernel or in the recording ("recording").
    std::function<void(std::uint64_t t_ns, const core::Losses &)> on_loss;
    std::function<void(view::Tick)> on_tick;
};

struct ReplayOptions {
    std::optional<view::ThreadChoice> threads;  ///< nullopt: as ticks were told when it was recorded
    bool for_screen = false;                    ///< ticks have the flushes since the last one, too
    /// Begin there, which is much sooner; processes are then known from their next reading on, and what their threads
    /// did before is in the baseline.
    std::optional<recording::Place> from;
};

/// What is known at the end.
struct Replayed {
    recording::Header header;
    view::Summary summary;                    ///< its `ticks` are those that on_tick was given
    bool complete = true;                     ///< all that was written is there, and it was ended
    std::vector<recording::Missing> missing;  ///< of what is not
    std::uint64_t records = 0;                ///< in the file, as its chunks count them
};

/// The greatest lag of any process.
recording::Peak peak_of(const view::Summary &summary);

/// Step by step, for whoever decides when the next one comes.
class Replay {
  public:
    /// Errors as recording::open_file() and recording::Reader::open().
    static core::Result<Replay> open(const std::string &path, ReplayHandlers handlers, const ReplayOptions &options);
    ~Replay();
    Replay(Replay &&) noexcept;
    Replay &operator=(Replay &&) noexcept;

    const recording::Header &header() const;
    const view::SnapshotDocument &facts() const;
    std::vector<recording::Place> places() const;
    std::optional<recording::Peak> peak() const;
    /// What is told next; false: nothing, it is over.
    bool step();
    /// Ledger and names as they are now.
    const Tracer &tracer() const;
    /// After the last step.
    Replayed finish();

  private:
    struct State;
    explicit Replay(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::cli
