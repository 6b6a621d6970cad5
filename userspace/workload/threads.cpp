// SPDX-License-Identifier: BSD-2-Clause
// Threads that touch memory and then sleep, so that the kernel's cache of each thread is not flushed.
#include <unistd.h>

#include "starts.h"
#include "worker_pool.h"

namespace rsslag::workload {
namespace {

constexpr std::chrono::milliseconds kAtOnce{0};

Started start_sleepers(const Options &given, const Options &defaults) {
    auto size = sizes(given, defaults);
    if (!size) return size.error();
    auto workers = WorkerPool::start(size->threads, size->bytes(), touch_and_wait, size->over);
    if (!workers) return workers.error();
    Facts facts{number("threads", size->threads), number("touched_kb", size->total_kb()),
                mapping_fact((*workers)->memory())};
    if (auto ok = await_sleep(getpid()); !ok) return ok.error();
    return facts;
}

}  // namespace

Started start_classic(const Options &given) {
    return start_sleepers(given, {.threads = 100, .kb = 1024, .over = kAtOnce});
}

// 60 faults and those of a thread's start are less than the 66 at which the `thread` scheme flushes.
Started start_few_pages(const Options &given) {
    return start_sleepers(given, {.threads = 32, .kb = 240, .over = kAtOnce});
}

Started start_many_threads(const Options &given) {
    return start_sleepers(given, {.threads = 10'000, .kb = 4});
}

Started start_single(const Options &given) {
    auto size = sizes(given, {.kb = 1024});
    if (!size) return size.error();
    auto memory = map_private(size->bytes());
    if (!memory) return memory.error();
    touch(*memory);
    return Facts{number("touched_kb", size->total_kb()), mapping_fact(*memory)};
}

}  // namespace rsslag::workload
