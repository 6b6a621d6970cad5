// SPDX-License-Identifier: BSD-2-Clause
#include "drain.h"

#include <pthread.h>

#include <chrono>
#include <numeric>
#include <utility>

namespace rsslag::tracer {
namespace {

using std::chrono::milliseconds;

/// A ring of the default size holds about 50 ms of the fastest CPU's updates.
constexpr milliseconds kBusy{5};
constexpr milliseconds kIdle{40};
/// About 1.5 s of a storm of updates: as long as a walk of many small pages may take.
constexpr std::size_t kMostWaiting = std::size_t{32} << 20;

std::size_t bytes_in(const std::vector<std::vector<std::byte>> &rings) {
    return std::accumulate(rings.begin(), rings.end(), std::size_t{0},
                           [](std::size_t sum, const std::vector<std::byte> &ring) { return sum + ring.size(); });
}

}  // namespace

Drain::Drain(std::size_t count, Rings rings, Other side_band, Other samples)
    : rings_(std::move(rings)),
      side_band_{std::move(side_band), {}},
      samples_{std::move(samples), {}},
      waiting_(count),
      spare_(count) {
    thread_ = std::thread([this] { run(); });
}

Drain::~Drain() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

/// Returns how many bytes came. The caller holds mutex_.
std::size_t Drain::drain_rings() {
    const std::size_t before = bytes_in(waiting_);
    rings_(waiting_);
    return bytes_in(waiting_) - before;
}

void Drain::run() {
    pthread_setname_np(pthread_self(), "drain");
    std::unique_lock lock(mutex_);
    while (!stop_) {
        for (Buffer *const buffer : {&side_band_, &samples_})
            if (buffer->read && buffer->waiting.size() <= kMostWaiting) buffer->read(buffer->waiting);
        const std::size_t came = bytes_in(waiting_) <= kMostWaiting ? drain_rings() : 0;
        const milliseconds pause = came > 0 ? kBusy : kIdle;
        wake_.wait_for(lock, pause, [this] { return stop_; });
    }
}

void Drain::collect(const std::function<void(std::size_t, std::span<const std::byte>)> &use) {
    {
        const std::lock_guard lock(mutex_);
        drain_rings();
        waiting_.swap(spare_);
    }
    constexpr std::size_t kWorthKeeping = std::size_t{1} << 20;
    for (std::size_t i = 0; i < spare_.size(); ++i) {
        std::vector<std::byte> &ring = spare_[i];
        if (!ring.empty()) use(i, ring);
        ring.clear();
        if (ring.capacity() > kWorthKeeping) ring.shrink_to_fit();
    }
}

std::vector<std::byte> Drain::collect(Buffer &buffer) {
    const std::lock_guard lock(mutex_);
    if (buffer.read) buffer.read(buffer.waiting);
    return std::exchange(buffer.waiting, {});
}

}  // namespace rsslag::tracer
