// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "rsslag/probe/stream.h"

namespace rsslag::host {

/// A thread that copies records out of the rings in time and never waits for anybody, however long a walk, a write or a
/// terminal keeps the rest. Where too much is waiting it stops: then the rings fill, and what finds no room there is
/// counted.
class Drain {
  public:
    explicit Drain(probe::StreamProbe &stream);
    ~Drain();
    Drain(const Drain &) = delete;
    Drain &operator=(const Drain &) = delete;

    /// All that has been sent up to now, ring by ring.
    void collect(const std::function<void(std::size_t, std::span<const std::byte>)> &use);

  private:
    void run();
    std::size_t drain_once();

    probe::StreamProbe &stream_;
    std::vector<std::vector<std::byte>> waiting_, spare_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace rsslag::host
