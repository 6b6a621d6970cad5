// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace rsslag::host {

/// A thread that copies records out of the rings in time and never waits for anybody, however long a walk, a write or a
/// terminal keeps the rest. Where too much is waiting the thread stops: then the rings fill, and what finds no room
/// there is counted. Whoever collects gets all that is there by then, however much that is: what is sent before a
/// moment can be told to have come only where nothing stays behind.
class Drain {
  public:
    /// Appends all that is in the rings, ring by ring.
    using Rings = std::function<void(std::span<std::vector<std::byte>>)>;
    /// Appends all that the side-band has told.
    using SideBand = std::function<void(std::vector<std::byte> &)>;

    /// Neither is called by two threads at once. `side_band`: empty where there is none.
    Drain(std::size_t count, Rings rings, SideBand side_band);
    ~Drain();
    Drain(const Drain &) = delete;
    Drain &operator=(const Drain &) = delete;

    /// All that has been sent up to now, ring by ring.
    void collect(const std::function<void(std::size_t, std::span<const std::byte>)> &use);

    /// What the side-band has told up to now: whole records.
    std::vector<std::byte> collect_side_band();

  private:
    void run();
    std::size_t drain_rings();

    Rings rings_;
    SideBand side_band_;  // empty: there is none
    std::vector<std::byte> side_band_bytes_;
    std::vector<std::vector<std::byte>> waiting_, spare_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace rsslag::host
