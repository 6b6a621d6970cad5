// SPDX-License-Identifier: BSD-2-Clause
// Threads that start and end without pause, until the process is killed.
#include <sys/mman.h>

#include <array>

#include "test_starts.h"
#include "workload/die.h"
#include "workload/failure.h"
#include "workload/worker_pool.h"

namespace rsslag::workload {
namespace {

constexpr std::size_t kAlive = 16;
constexpr std::size_t kChurnPages = 10;

/// A thread that starts, touches its memory and ends. The spawner unmaps the memory after the thread's end.
struct ShortLived {
    pthread_t handle{};
    Memory memory;
    Signal touched, dismissed;

    static void *run(void *argument) {
        auto *self = static_cast<ShortLived *>(argument);
        touch(self->memory);
        self->touched.raise();
        self->dismissed.await();
        return nullptr;
    }

    void start(const pthread_attr_t &attributes) {
        touched.raised = 0;
        dismissed.raised = 0;
        memory = map_or_die(kChurnPages, MAP_PRIVATE | MAP_ANONYMOUS);
        if (const int err = pthread_create(&handle, &attributes, run, this); err != 0) {
            die(failed("pthread_create", err));
        }
        touched.await();
    }
    void end() {
        dismissed.raise();
        if (const int err = pthread_join(handle, nullptr); err != 0) die(failed("pthread_join", err));
        unmap_or_die(memory);
    }
};

void spawn_for_ever(Worker &spawner) {
    std::array<ShortLived, kAlive> threads;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, worker_stack_bytes());
    for (ShortLived &thread : threads)
        thread.start(attributes);
    spawner.ready.raise();
    for (std::size_t oldest = 0;; oldest = (oldest + 1) % kAlive) {
        threads[oldest].end();
        threads[oldest].start(attributes);
    }
}

}  // namespace

Started start_churn(const Options &given) {
    if (auto none = sizes(given, {}); !none) return none.error();
    auto workers = WorkerPool::start(1, 0, spawn_for_ever);
    if (!workers) return workers.error();
    return Facts{number("alive", kAlive)};
}

}  // namespace rsslag::workload
