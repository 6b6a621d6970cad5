// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace rsslag::tracer {

/// A thread that copies records out of the rings in time, even while a walk, a write or the terminal blocks the main
/// thread. If too many bytes wait for collect(), the thread pauses. Then the rings fill, and the BPF programs count
/// records that do not fit. collect() itself has no such limit, because it must empty the rings. Otherwise it would be
/// uncertain whether all records from before a given time have come.
class Drain {
  public:
    /// Appends the contents of the rings, ring by ring.
    using Rings = std::function<void(std::span<std::vector<std::byte>>)>;
    /// Appends the records of another buffer.
    using Other = std::function<void(std::vector<std::byte> &)>;

    /// `rings`, `side_band` and `samples` are called under a mutex. The last two may be empty.
    Drain(std::size_t count, Rings rings, Other side_band, Other samples = {});
    ~Drain();
    Drain(const Drain &) = delete;
    Drain &operator=(const Drain &) = delete;

    /// Calls `use` with all records sent until now, ring by ring.
    void collect(const std::function<void(std::size_t, std::span<const std::byte>)> &use);

    /// The side-band's records until now; the last one is complete.
    std::vector<std::byte> collect_side_band() { return collect(side_band_); }
    /// The samples until now.
    std::vector<std::byte> collect_samples() { return collect(samples_); }

  private:
    /// A buffer besides the rings.
    struct Buffer {
        Other read;
        std::vector<std::byte> waiting;
    };
    void run();
    std::size_t drain_rings();
    std::vector<std::byte> collect(Buffer &buffer);

    Rings rings_;
    Buffer side_band_, samples_;
    std::vector<std::vector<std::byte>> waiting_, spare_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace rsslag::tracer
