// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <optional>

#include "screen/screen.h"
#include "session/live_view.h"
#include "session/process_names.h"
#include "system/all_processes.h"
#include "system/own_cost.h"
#include "system/signals.h"
#include "terminal/screen.h"
#include "tracer/tracer.h"

namespace rsslag::session {

/// `top`: tables of all processes. On the screen a key opens the live screen of one of them.
class TopSession {
  public:
    TopSession(std::chrono::milliseconds interval, system::StopSignals &stop) : interval_(interval), stop_(stop) {}
    TopSession(const TopSession &) = delete;  // functions of the snapshotter and the tracer use its address
    TopSession &operator=(const TopSession &) = delete;

    /// Errors as system::AllProcesses::open().
    core::Status open();
    /// Reads one table. `ids`: with the ids of the mms.
    core::Result<documents::TopTable> read(bool ids);
    /// Shows tables on the screen until a key or a signal ends rsslag.
    core::Status show(const documents::TextStyle &style, documents::TopSort sort);

  private:
    bool is_over() { return stop_.stop_requested() || (screen_ && screen_->asked_to_quit()); }
    core::Status run();
    core::Status end_of_interval();
    bool apply(const screen::Intent &intent);
    void walk_now(pid_t pid);
    void open_live(pid_t pid);
    void close_live();

    std::chrono::milliseconds interval_;
    system::StopSignals &stop_;
    documents::TextStyle style_;
    std::optional<system::AllProcesses> all_;
    ProcessNames names_;                         ///< only for the screen
    system::OwnCostMeter meter_{1'000'000'000};  ///< averages the first pass over at least 1 s
    std::optional<terminal::Screen> screen_;
    std::optional<ScreenTicks> ticks_;      ///< passes the ticks of tracer_ to screen_
    std::optional<tracer::Tracer> tracer_;  ///< while the live screen of a process is shown
};

}  // namespace rsslag::session
