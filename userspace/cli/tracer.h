// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "rsslag/core/losses.h"
#include "rsslag/core/raw_reading.h"
#include "rsslag/core/result.h"
#include "rsslag/probe/stream.h"
#include "rsslag/recording/header.h"
#include "rsslag/recording/writer.h"
#include "rsslag/view/tick.h"
#include "source.h"

namespace rsslag::cli {

struct KnownState;

/// Traces processes: the stream, the ledger and the exact readings that it is checked against, put together.
class Tracer {
  public:
    struct Options {
        std::size_t ring_bytes = std::size_t{2} << 20;
        bool follow = false;
        bool counting = false;  ///< --mode counts
        bool dropped = false;   ///< capabilities are, before threads came up
        bool walk = true;
        view::ThreadChoice threads;
        /// Ticks tell what no document has: the last flushes or folds, each task's faults since its last flush.
        bool for_screen = false;
        /// Called for each record about a traced process, in order; null: nobody looks.
        std::function<void(const view::EventLine &)> on_update;
        std::function<void(const view::TaskLine &)> on_task;
        /// The same as they came, in order, with what the ledger makes of it: cheap, for whoever reads them all.
        std::function<void(const rsslag_update &, const core::Applied &)> on_applied;
        std::function<void(const rsslag_fault &)> on_fault;
        std::function<void(const rsslag_sum &)> on_sum;
        /// Called for each reading of a traced process, before it is compared with the ledger.
        std::function<void(const core::RawReading &)> on_reading;
        /// Called where more was lost than before.
        std::function<void(std::uint64_t t_ns, const core::Losses &)> on_loss;
    };

    /// Puts the probes in place; nobody is traced yet. Built without the tracer: Kind::Unsupported.
    static core::Result<Tracer> open(Options options);
    /// Is told everything by `source`, which is all that a trace depends on.
    static Tracer over(std::unique_ptr<Source> source, Options options);

    ~Tracer();
    Tracer(Tracer &&) noexcept;
    Tracer &operator=(Tracer &&) = delete;

    /// Traces a process that runs. Kind::Gone where it does not.
    core::Status attach(pid_t pid);
    /// Traces what this process will exec; its image until then is rsslag's own and never shown.
    core::Status attach_at_exec(pid_t pid);

    /// Traces processes as well that match from their next exec on.
    core::Status attach_matching(const probe::Pattern &pattern);

    /// Traces on from what was read of a process whose begin was not told.
    void adopt(int host_tgid, const core::RawReading &reading);

    /// Takes in what has come since; processes that have ended meanwhile, each with its last tick.
    std::vector<view::Tick> collect();
    /// Reads every traced process and checks the ledger against it.
    std::vector<view::Tick> tick();

    /// The next tick walks this process's smaps, however short ago it did; not where Options::walk is off.
    void walk_now(pid_t pid);
    /// Groups that live.
    std::vector<core::GroupView> groups() const;
    /// The machine, its kernel and what calibration found.
    const view::SnapshotDocument &facts() const;

    /// Whether any process is traced, an ended one until its last tick included.
    bool any() const;
    bool traces(pid_t pid) const;
    /// Hooks that could not be used.
    const std::vector<std::string> &missing() const;
    /// As they were told last.
    const core::Losses &losses() const;
    /// Ends the trace: all that was sent is taken in. The last ticks of processes that ended meanwhile.
    std::vector<view::Tick> stop();
    /// After stop().
    view::Summary summary();

    /// From now on all that is told is recorded, also what is known by now. Only of what open() made. Ticks of
    /// processes that have ended meanwhile, as collect() has them.
    std::vector<view::Tick> record(recording::Writer writer, recording::Header header);
    /// What is told from now on goes into the next segment of the recording, which begins with what is known by now.
    std::vector<view::Tick> next_segment();
    /// The recording that goes on, else null.
    recording::Writer *recording();
    /// It ends here, for whoever waits for that.
    std::optional<recording::Writer> end_recording();

  private:
    struct State;
    explicit Tracer(std::unique_ptr<State> state);
    /// Between two calls, with what is known then.
    std::vector<view::Tick> begin_amid(
        const std::function<void(const KnownState &known, const core::Losses &until_now)> &begin);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::cli
