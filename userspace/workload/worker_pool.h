// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <deque>

#include "memory.h"
#include "quiescence.h"
#include "rsslag/core/result.h"

namespace rsslag::workload {

struct Worker;

/// What a worker does; runs in the thread. It raises `ready` once and blocks from then on (or is busy for ever).
using Body = void (*)(Worker &);

/// One thread of a pool, and what it has been given.
struct Worker {
    pthread_t handle{};
    Body body = nullptr;
    Memory memory;                ///< its own slice of the pool's mapping; may be empty
    std::array<char, 16> name{};  ///< written by the starter: formatting in the thread would touch pages of its own
    Signal ready;                 ///< raised by the worker: its memory is as promised
    Signal dismissed;             ///< raised for the worker: it may end
};

/// Small, so that thousands fit.
std::size_t worker_stack_bytes();

/// The plain worker: touches its memory, says so, waits to be dismissed.
void touch_and_wait(Worker &worker);

/// Threads with small stacks, all stacks in one mapping (10,000 stacks of their own, each with a guard, would want a
/// third of the mappings that vm.max_map_count allows) and all touched memory in another. Signals are blocked in them.
class WorkerPool {
  public:
    /// Starts them one after another: the next one when the one before is ready. The pool lives as long as the
    /// process, since its threads use it; after an error the threads started so far are left as they are.
    /// `over` is spread between them.
    static core::Result<WorkerPool *> start(int threads, std::size_t bytes_each, Body body,
                                            std::chrono::milliseconds over = {});

    std::deque<Worker> &workers() { return workers_; }
    Memory memory() const { return memory_; }

  private:
    std::deque<Worker> workers_;  // addresses stay: the threads hold them
    Memory memory_;
};

/// Lets one end and waits for that.
core::Status dismiss(Worker &worker);

}  // namespace rsslag::workload
