// SPDX-License-Identifier: BSD-2-Clause
#include "worker_pool.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "failure.h"
#include "proc_text.h"

namespace rsslag::workload {
namespace {

core::Error refused(int err, std::size_t started) {
    core::Error error = failed("pthread_create after " + std::to_string(started) + " threads", err);
    if (err != EAGAIN && err != ENOMEM) return error;
    error.kind = core::Kind::Unsupported;
    error.remedy = "use fewer --threads, or raise ulimit -u, the cgroup's pids.max";
    for (const char *limit : {"kernel/threads-max", "kernel/pid_max", "vm/max_map_count"}) {
        if (const auto value = read_number(std::string("/proc/sys/") + limit)) {
            error.remedy += std::string(", ") + limit + " (" + std::to_string(*value) + ")";
        }
    }
    return error;
}

/// Blocks all signals in its scope. New threads inherit the mask, so that the main thread gets signals to the process.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t every;
        sigfillset(&every);
        pthread_sigmask(SIG_SETMASK, &every, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;

  private:
    sigset_t before_{};
};

struct Attributes {
    Attributes() { pthread_attr_init(&value); }
    ~Attributes() { pthread_attr_destroy(&value); }
    Attributes(const Attributes &) = delete;
    Attributes &operator=(const Attributes &) = delete;

    pthread_attr_t value{};
};

void *run(void *argument) {
    auto *worker = static_cast<Worker *>(argument);
    prctl(PR_SET_NAME, worker->name.data());
    worker->body(*worker);
    return nullptr;
}

/// Starts one thread and waits until it is ready.
core::Status start_one(Worker &worker, Memory stack, std::size_t started_before) {
    Attributes attributes;
    if (const int err = pthread_attr_setstack(&attributes.value, stack.data(), stack.size()); err != 0) {
        return failed("pthread_attr_setstack", err);
    }
    if (const int err = pthread_create(&worker.handle, &attributes.value, run, &worker); err != 0) {
        return refused(err, started_before);
    }
    worker.ready.await();
    return core::success();
}

}  // namespace

std::size_t worker_stack_bytes() {
    // The C library's minimum depends on the CPU's register file (AVX-512) and on thread-local storage.
    const auto least = static_cast<std::size_t>(std::max(0L, sysconf(_SC_THREAD_STACK_MIN)));
    const std::size_t page = page_size();
    return std::max<std::size_t>(64 * 1024, (least + 32 * 1024 + page - 1) / page * page);
}

void touch_and_wait(Worker &worker) {
    touch(worker.memory);
    worker.ready.raise();
    worker.dismissed.await();
}

core::Result<WorkerPool *> WorkerPool::start(int threads, std::size_t bytes_each, Body body,
                                             std::chrono::milliseconds over) {
    const auto count = static_cast<std::size_t>(threads);
    const std::size_t stack = worker_stack_bytes();
    auto stacks =
        map_guarded(count * stack, {PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK});
    if (!stacks) return stacks.error();
    if (auto ok = forbid_huge_pages(*stacks); !ok) return ok.error();
    WorkerPool *const workers = std::make_unique<WorkerPool>().release();  // never freed, as its threads use it
    if (bytes_each > 0) {
        auto memory = map_private(count * bytes_each);
        if (!memory) return memory.error();
        workers->memory_ = *memory;
    }
    const SignalsBlocked blocked;
    for (std::size_t i = 0; i < count; ++i) {
        Worker &worker = workers->workers_.emplace_back();
        worker.body = body;
        if (bytes_each > 0) worker.memory = workers->memory_.subspan(i * bytes_each, bytes_each);
        std::snprintf(worker.name.data(), worker.name.size(), "worker-%02u", static_cast<unsigned>(i));
        if (auto ok = start_one(worker, stacks->subspan(i * stack, stack), i); !ok) return ok.error();
        sleep_part(over, count);
    }
    return workers;
}

}  // namespace rsslag::workload
