// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "analysis/observer.h"
#include "procfs/user_names.h"
#include "screen/screen.h"
#include "session/live_stacks.h"
#include "terminal/screen.h"

namespace rsslag::session {

/// The facts that the live screen shows before the first tick. `below`: Esc returns to the list of processes.
screen::ScreenFacts screen_facts(const core::SnapshotDocument &facts, std::chrono::milliseconds interval, bool walks,
                                 bool below);

/// The users and the cgroups of the processes of ticks.
class TickNames {
  public:
    std::string user(const core::Tick &tick) { return users_.of(tick.process.uid); }
    /// Read again at most every 10 s of the trace; empty if it cannot be read, or the process has ended.
    const std::string &cgroup(const core::Tick &tick);

  private:
    struct Known {
        std::uint64_t start_ticks = 0, t_ns = 0;
        std::string cgroup;
    };
    procfs::UserNames users_;
    std::unordered_map<int, Known> cgroups_;  ///< by PID
};

/// Queues a tick for the live screen; never waits for the screen.
void post_tick(terminal::Screen &screen, core::Tick tick, TickNames &names);
/// Queues the ticks of a trace for the live screen.
class ScreenTicks : public analysis::TraceObserver {
  public:
    explicit ScreenTicks(terminal::Screen &screen) : screen_(screen) {}
    bool needs_records() const override { return false; }
    void on_tick(core::Tick tick) override { post_tick(screen_, std::move(tick), names_); }

  private:
    terminal::Screen &screen_;
    TickNames names_;
};

/// Queues the profile for the live screen, if it has changed.
void post_stacks(terminal::Screen &screen, LiveStacks &stacks);

/// Queues a notice for the live screen or the list of processes.
void post_notice(terminal::Screen &screen, std::string notice);

}  // namespace rsslag::session
