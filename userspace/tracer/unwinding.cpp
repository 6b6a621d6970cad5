// SPDX-License-Identifier: BSD-2-Clause
#include "unwinding.h"

#include <pthread.h>

#include <iterator>
#include <utility>

namespace rsslag::tracer {
namespace {

constexpr std::size_t kMostWaitingSamples = std::size_t{64} << 20;

}  // namespace

Unwinding::Unwinding(std::function<Result(Batch)> unwind) : unwind_(std::move(unwind)), thread_([this] { run(); }) {}

Unwinding::~Unwinding() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void Unwinding::put(Batch batch) {
    const std::lock_guard lock(mutex_);
    for (RawSample &sample : batch.samples) {
        if (waiting_bytes_ + sample.size() > kMostWaitingSamples) sample = {};
        waiting_bytes_ += sample.size();
    }
    waiting_.push_back(std::move(batch));
    wake_.notify_one();
}

Unwinding::Result Unwinding::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(ready_, {});
}

Unwinding::Result Unwinding::finish() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return waiting_.empty() && !busy_; });
    return std::exchange(ready_, {});
}

void Unwinding::run() {
    pthread_setname_np(pthread_self(), "unwinder");
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
        if (stop_) return;
        Batch batch = std::move(waiting_.front());
        waiting_.pop_front();
        busy_ = true;
        lock.unlock();
        std::size_t bytes = 0;
        for (const RawSample &sample : batch.samples)
            bytes += sample.size();
        Result result = unwind_(std::move(batch));
        lock.lock();
        waiting_bytes_ -= bytes;
        std::move(result.stacks.begin(), result.stacks.end(), std::back_inserter(ready_.stacks));
        for (const auto &[tid, copied] : result.cut)
            ready_.cut[tid] = copied;
        busy_ = false;
        if (waiting_.empty()) idle_.notify_all();
    }
}

}  // namespace rsslag::tracer
