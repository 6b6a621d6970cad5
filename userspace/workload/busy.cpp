// SPDX-License-Identifier: BSD-2-Clause
// Workloads that never rest. Their threads raise `ready` after the first round and go on until the process is killed.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "die.h"
#include "failure.h"
#include "starts.h"
#include "worker_pool.h"

namespace rsslag::workload {
namespace {

constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;

/// Maps, touches and unmaps forever; `pages` returns the amount of each round.
template <class Amount>
void go_round(Worker &worker, Amount pages) {
    for (bool first = true;; first = false) {
        const Memory memory = map_or_die(pages(), kAnonymous);
        touch(memory);
        unmap_or_die(memory);
        if (first) worker.ready.raise();
    }
}

void map_and_unmap(Worker &worker) {
    std::minstd_rand random(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(&worker) >> 6));
    std::uniform_int_distribution<std::size_t> pages(64, 512);
    go_round(worker, [&] { return pages(random); });
}

void storm(Worker &worker) {
    go_round(worker, [] { return (std::size_t{8} << 20) / page_size(); });
}

Started start_loops(const Options &given, const Options &defaults, Body body) {
    auto size = sizes(given, defaults);
    if (!size) return size.error();
    auto workers = WorkerPool::start(size->threads, 0, body);
    if (!workers) return workers.error();
    return Facts{number("threads", size->threads)};
}

}  // namespace

Started start_busy(const Options &given) {
    return start_loops(given, {.threads = 8}, map_and_unmap);
}
Started start_storm(const Options &given) {
    return start_loops(given, {.threads = 1}, storm);
}

}  // namespace rsslag::workload
