// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <utility>

#include "procfs/process.h"

namespace rsslag::system {

/// SIGINT, SIGTERM and SIGHUP: blocked for this thread and read from a signalfd.
class StopSignals {
  public:
    /// `interrupts`: the number of the SIGINT that stops rsslag; 2 with `-- CMD`, since the first one is for CMD.
    explicit StopSignals(int interrupts = 1);

    /// Whether rsslag must stop.
    bool stop_requested() { return wait(std::chrono::milliseconds{}); }
    /// Waits at most `timeout` (negative: no limit) until rsslag must stop, and returns whether it must. Also returns
    /// when the descriptor `*also` becomes readable, and then sets `*also` to -1.
    bool wait(std::chrono::milliseconds timeout, int *also = nullptr);
    /// Whether a SIGINT that does not stop rsslag has come since the last call.
    bool interrupted() { return std::exchange(interrupted_, false); }
    /// Becomes readable when a signal has come; then call stop_requested().
    int fd() const { return fd_.get(); }

  private:
    void read_one();

    procfs::Fd fd_;
    int interrupts_left_;
    bool came_ = false;
    bool interrupted_ = false;
};

}  // namespace rsslag::system
