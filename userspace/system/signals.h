// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <chrono>

#include "procfs/process.h"

namespace rsslag::system {

/// SIGINT, SIGTERM and SIGHUP: blocked for this thread and read from a signalfd. There is one object at a time; it is
/// core::must_stop.
class StopSignals {
  public:
    /// `interrupts`: the number of the SIGINT that stops rsslag; 2 with `-- CMD`, since the first one is for CMD.
    explicit StopSignals(int interrupts = 1);
    ~StopSignals();
    StopSignals(const StopSignals &) = delete;
    StopSignals &operator=(const StopSignals &) = delete;

    /// Whether rsslag must stop. Any thread may call it.
    bool stop_requested();
    /// Waits at most `timeout` (negative: no limit) until rsslag must stop, and returns whether it must. Also returns
    /// when the descriptor `*also` becomes readable, and then sets `*also` to -1.
    bool wait(std::chrono::milliseconds timeout, int *also = nullptr);
    /// Whether a SIGINT that does not stop rsslag has come since the last call.
    bool interrupted() { return interrupted_.exchange(false); }
    /// Becomes readable when a signal has come; then call stop_requested(), which reads the signal.
    int fd() const { return fd_.get(); }

  private:
    void read_one();

    procfs::Fd fd_;
    std::atomic<int> interrupts_left_;
    std::atomic<bool> came_ = false;
    std::atomic<bool> interrupted_ = false;
};

}  // namespace rsslag::system
