// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <deque>

#include "core/result.h"
#include "memory.h"
#include "quiescence.h"

namespace rsslag::workload {

struct Worker;

/// The function of a worker, run in its thread. It raises `ready` once and then blocks, or is busy forever.
using Body = void (*)(Worker &);

/// One thread of a pool and its data.
struct Worker {
    pthread_t handle{};
    Body body = nullptr;
    Memory memory;                ///< its own slice of the pool's mapping; may be empty
    std::array<char, 16> name{};  ///< set before the thread starts, since formatting in the thread would touch pages
    Signal ready;                 ///< raised by the worker when its memory is touched
    Signal dismissed;             ///< raised by a test, to let the worker end
};

/// The size of a worker's stack, which is small so that thousands fit.
std::size_t worker_stack_bytes();

/// The usual Body: touches its memory, raises `ready`, waits for `dismissed`.
void touch_and_wait(Worker &worker);

/// Threads with small stacks, all stacks in one mapping (10,000 separate stacks with guards would need a third of the
/// mappings that vm.max_map_count allows) and all touched memory in another. The threads block all signals.
class WorkerPool {
  public:
    /// Starts the threads one after another, each when the previous one is ready, spread over `over`. The pool is never
    /// freed, since its threads use it; after an error the threads started so far keep running.
    static core::Result<WorkerPool *> start(int threads, std::size_t bytes_each, Body body,
                                            std::chrono::milliseconds over = {});

    std::deque<Worker> &workers() { return workers_; }
    Memory memory() const { return memory_; }

  private:
    std::deque<Worker> workers_;  // a deque keeps the addresses, which the threads use
    Memory memory_;
};

}  // namespace rsslag::workload
