// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "rsslag/probe/side_band.h"
#include "rsslag/probe/stream.h"

namespace rsslag::host {

/// A thread that copies records out of the rings in time and never waits for anybody, however long a walk, a write or a
/// terminal keeps the rest. Where too much is waiting it stops: then the rings fill, and what finds no room there is
/// counted.
class Drain {
  public:
    /// `side_band`: null where there is none.
    Drain(probe::StreamProbe &stream, probe::SideBand *side_band);
    ~Drain();
    Drain(const Drain &) = delete;
    Drain &operator=(const Drain &) = delete;

    /// All that has been sent up to now, ring by ring.
    void collect(const std::function<void(std::size_t, std::span<const std::byte>)> &use);

    /// What the side-band has told up to now: whole records.
    std::vector<std::byte> collect_side_band();

  private:
    void run();
    std::size_t drain_once();

    probe::StreamProbe &stream_;
    probe::SideBand *side_band_;
    std::vector<std::byte> told_;
    std::vector<std::vector<std::byte>> waiting_, spare_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace rsslag::host
