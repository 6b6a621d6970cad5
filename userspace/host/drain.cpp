// SPDX-License-Identifier: BSD-2-Clause
#include "drain.h"

#include <pthread.h>

#include <chrono>
#include <utility>

namespace rsslag::host {
namespace {

using std::chrono::milliseconds;

/// A ring of the default size holds some 50 ms of the fastest CPU's updates.
constexpr milliseconds kBusy{5};
constexpr milliseconds kIdle{40};
/// A second and a half of a storm: as long as a walk of many small pages may take.
constexpr std::size_t kMostWaiting = std::size_t{32} << 20;

}  // namespace

Drain::Drain(probe::StreamProbe &stream, probe::SideBand *side_band)
    : stream_(stream), side_band_(side_band), waiting_(stream.rings()), spare_(stream.rings()) {
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

/// How many bytes came; the lock is held.
std::size_t Drain::drain_once() {
    if (side_band_ != nullptr && told_.size() <= kMostWaiting) side_band_->drain(told_);
    std::size_t before = 0;
    for (const auto &ring : waiting_)
        before += ring.size();
    if (before > kMostWaiting) return 0;
    stream_.drain(waiting_);
    std::size_t after = 0;
    for (const auto &ring : waiting_)
        after += ring.size();
    return after - before;
}

void Drain::run() {
    pthread_setname_np(pthread_self(), "drain");
    std::unique_lock lock(mutex_);
    while (!stop_) {
        const milliseconds pause = drain_once() > 0 ? kBusy : kIdle;
        wake_.wait_for(lock, pause, [this] { return stop_; });
    }
}

void Drain::collect(const std::function<void(std::size_t, std::span<const std::byte>)> &use) {
    {
        const std::lock_guard lock(mutex_);
        drain_once();
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

std::vector<std::byte> Drain::collect_side_band() {
    const std::lock_guard lock(mutex_);
    if (side_band_ != nullptr) side_band_->drain(told_);
    return std::exchange(told_, {});
}

}  // namespace rsslag::host
