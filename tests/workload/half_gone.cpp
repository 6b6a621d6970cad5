// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include "test_starts.h"
#include "workload/failure.h"
#include "workload/worker_pool.h"

namespace rsslag::workload {
namespace {

core::Status dismiss(Worker &worker) {
    worker.dismissed.raise();
    if (const int err = pthread_join(worker.handle, nullptr); err != 0) return failed("pthread_join", err);
    return core::success();
}

}  // namespace

Started start_half_gone(const Options &given) {
    auto size = sizes(given, {.threads = 64, .kb = 64});
    if (!size) return size.error();
    auto workers = WorkerPool::start(size->threads, size->bytes(), touch_and_wait);
    if (!workers) return workers.error();
    const int gone = size->threads / 2;
    for (int i = 0; i < gone; ++i) {
        if (auto ok = dismiss((*workers)->workers()[static_cast<std::size_t>(i)]); !ok) return ok.error();
    }
    Facts facts{number("threads", size->threads - gone), number("gone", gone), number("touched_kb", size->total_kb()),
                mapping_fact((*workers)->memory())};
    if (auto ok = await_sleep(getpid()); !ok) return ok.error();
    return facts;
}

}  // namespace rsslag::workload
