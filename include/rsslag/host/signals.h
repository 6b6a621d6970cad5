// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <utility>

#include "rsslag/procfs/process.h"

namespace rsslag::host {

/// INT, TERM and HUP as something to wait for: blocked for this thread and read from a descriptor.
class StopSignals {
  public:
    /// `interrupts` INTs in all stop rsslag: 2 under `-- CMD`, whose the first one is.
    explicit StopSignals(int interrupts = 1);

    /// Whether rsslag shall stop.
    bool came() { return wait(std::chrono::milliseconds{}); }
    /// Waits at most `timeout` (below 0: without end) for that, or until `also` can be read, which is -1 then.
    bool wait(std::chrono::milliseconds timeout, int *also = nullptr);
    /// Whether an INT that did not stop rsslag has come since this was last asked.
    bool interrupted() { return std::exchange(interrupted_, false); }
    /// Readable when came() should be asked.
    int fd() const { return fd_.get(); }

  private:
    void read_one();

    procfs::Fd fd_;
    int interrupts_left_;
    bool came_ = false;
    bool interrupted_ = false;
};

}  // namespace rsslag::host
