// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/event.h"
#include "core/mapping.h"

namespace rsslag::tracer {

/// One rsslag_sample and its stack bytes, as the BPF program sent them.
using RawSample = std::vector<std::byte>;

/// A thread that turns samples into stacks. Its queue is bounded: the stacks of samples that do not fit are
/// StackEnd::Dropped.
class Unwinding {
  public:
    /// `most_bytes`: of the samples of a batch; copies of stacks do not grow beyond it.
    explicit Unwinding(std::size_t most_bytes);
    ~Unwinding();
    Unwinding(const Unwinding &) = delete;
    Unwinding &operator=(const Unwinding &) = delete;

    /// What has come since the last call.
    struct Batch {
        std::uint64_t first = 0;  ///< number of the first sample
        std::vector<RawSample> samples;
        std::uint64_t lost = 0;  ///< as event::Stacks
        std::vector<core::MappingChange> changes;
        std::vector<core::MappingListing> listings;
        std::vector<int> ended;  ///< PIDs
    };
    void put(Batch batch);
    /// Threads many of whose stacks are longer than the copy, if there is space for larger copies: by host TID, how
    /// much was copied.
    using Cut = std::map<int, std::size_t>;
    struct Ready {
        std::vector<event::Stacks> stacks;
        Cut cut;
    };
    /// What is ready since the last call.
    Ready take();
    /// Waits for all stacks.
    Ready finish();

  private:
    struct State;
    void run();

    std::mutex mutex_;
    std::condition_variable wake_, idle_;
    std::deque<Batch> waiting_;
    std::size_t waiting_bytes_ = 0;
    bool busy_ = false, stop_ = false;
    Ready ready_;
    std::unique_ptr<State> state_;  ///< of the thread
    std::thread thread_;
};

}  // namespace rsslag::tracer
