// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "unwinder.h"

namespace rsslag::tracer {

/// A thread that has samples turned into stacks. Its queue is bounded: the stacks of samples that do not fit are
/// StackEnd::Dropped.
class Unwinding {
  public:
    using Batch = Unwinder::Batch;
    using Result = Unwinder::Result;
    /// `unwind` is called by the thread.
    explicit Unwinding(std::function<Result(Batch)> unwind);
    ~Unwinding();
    Unwinding(const Unwinding &) = delete;
    Unwinding &operator=(const Unwinding &) = delete;

    void put(Batch batch);
    /// What is ready since the last call.
    Result take();
    /// Waits for all stacks.
    Result finish();

  private:
    void run();

    std::mutex mutex_;
    std::condition_variable wake_, idle_;
    std::deque<Batch> waiting_;
    std::size_t waiting_bytes_ = 0;
    bool busy_ = false, stop_ = false;
    Result ready_;
    std::function<Result(Batch)> unwind_;
    std::thread thread_;
};

}  // namespace rsslag::tracer
