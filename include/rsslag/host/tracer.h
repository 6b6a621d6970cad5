// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/capability.h>
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/losses.h"
#include "rsslag/core/result.h"
#include "rsslag/core/tick.h"
#include "rsslag/host/source.h"
#include "rsslag/probe/stream.h"
#include "rsslag/recording/header.h"
#include "rsslag/recording/writer.h"
#include "rsslag/trace/analyzer.h"

namespace rsslag::host {

/// A live trace: asks a kernel, makes events of its answers, and gives them to the recording and to the judge alike.
/// What it asks it decides by what the judge knows; the judge never asks.
class Tracer {
  public:
    struct Options {
        std::size_t ring_bytes = std::size_t{2} << 20;
        bool follow = false;
        bool counting = false;  ///< --mode counts
        bool dropped = false;   ///< capabilities are, before threads came up
        bool walk = true;
        bool names = false;      ///< mappings are told of as they change, for who records them
        bool calibrated = true;  ///< else nobody is told which files of /proc lie
        /// Whether a walk that takes long is no longer waited for; none: it is, however long it takes.
        std::function<bool()> impatient = {};
        core::ThreadChoice threads;
        /// Ticks tell what no document has: the last flushes or folds, each task's faults since its last flush.
        bool for_screen = false;
        /// Outlives the tracer. Ticks go to it, in order with what else it is told, and are not returned any more;
        /// null: they are.
        trace::TraceObserver *observer = nullptr;
    };

    /// Capabilities that open() takes beyond those of a Snapshotter, for who drops the others before.
    static std::vector<cap_value_t> opened_with();
    /// Puts the probes in place; nobody is traced yet. Built without the tracer: Kind::Unsupported.
    static core::Result<Tracer> open(Options options);
    static Tracer over(std::unique_ptr<Source> source, Options options);

    ~Tracer();
    Tracer(Tracer &&) noexcept;
    Tracer &operator=(Tracer &&) = delete;

    /// Traces a process that runs. Kind::Gone where it does not.
    core::Status attach(pid_t pid);
    /// It was not, and nobody named it: told once of a process that is there.
    void not_attached(pid_t pid, const core::Error &why);
    /// Traces what this process will exec; its image until then is rsslag's own and never shown.
    core::Status attach_at_exec(pid_t pid);

    /// Traces processes as well that match from their next exec on.
    core::Status attach_matching(const probe::Pattern &pattern);

    /// Takes in what has come since; processes that have ended meanwhile, each with its last tick.
    std::vector<core::Tick> collect();
    /// Reads every traced process and checks the ledger against it.
    std::vector<core::Tick> tick();

    /// The next tick walks this process's smaps, however short ago it did; not where Options::walk is off.
    void walk_now(pid_t pid);
    /// The machine, its kernel and what calibration found.
    const core::SnapshotDocument &facts() const;

    /// Whether any process is traced, an ended one until its last tick included.
    bool any() const;
    bool traces(pid_t pid) const;
    /// Hooks that could not be used.
    const std::vector<std::string> &missing() const;
    /// As they were told last.
    const core::Losses &losses() const;
    /// Ends the trace: all that was sent is taken in. The last ticks of processes that ended meanwhile.
    std::vector<core::Tick> stop();
    /// After stop().
    core::Summary summary();

    /// From now on all that is told is recorded, also what is known by now. Ticks of processes that have ended
    /// meanwhile, as collect() has them.
    std::vector<core::Tick> record(recording::Writer writer, recording::Header header);
    /// What is told from now on goes into the next segment of the recording, which begins with what is known by now.
    std::vector<core::Tick> next_segment();
    /// The recording that goes on, else null.
    recording::Writer *recording();
    /// It ends here, for whoever waits for that.
    std::optional<recording::Writer> end_recording();

  private:
    struct State;
    explicit Tracer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::host
