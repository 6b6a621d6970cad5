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

/// A thread that copies records out of the rings in time, even while a walk, a write or the terminal blocks the first
/// thread. If too many bytes wait to be collected, it pauses: then the rings fill, and the programs count records that
/// do not fit. collect() has no such limit: only if it leaves nothing behind is it certain that all records sent before
/// a given time have come.
class Drain {
  public:
    /// Appends the contents of the rings, ring by ring.
    using Rings = std::function<void(std::span<std::vector<std::byte>>)>;
    /// Appends the side-band's records.
    using SideBand = std::function<void(std::vector<std::byte> &)>;

    /// `rings` and `side_band` are called under a mutex. `side_band`: empty if there is none.
    Drain(std::size_t count, Rings rings, SideBand side_band);
    ~Drain();
    Drain(const Drain &) = delete;
    Drain &operator=(const Drain &) = delete;

    /// Calls `use` with all records sent up to now, ring by ring.
    void collect(const std::function<void(std::size_t, std::span<const std::byte>)> &use);

    /// The side-band's records up to now, whole records.
    std::vector<std::byte> collect_side_band();

  private:
    void run();
    std::size_t drain_rings();

    Rings rings_;
    SideBand side_band_;
    std::vector<std::byte> side_band_bytes_;
    std::vector<std::vector<std::byte>> waiting_, spare_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace rsslag::host
