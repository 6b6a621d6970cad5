// SPDX-License-Identifier: BSD-2-Clause
// All kinds of actions that change counters, with pauses in which no counter changes.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <random>

#include "pages.h"
#include "test_starts.h"
#include "workload/die.h"
#include "workload/failure.h"
#include "workload/worker_pool.h"

namespace rsslag::workload {
namespace {

constexpr long kPhaseMs = 400;  ///< duration of activity, and of each pause

long phase_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec * 1000 + now.tv_nsec / 1'000'000) % (2 * kPhaseMs);
}

/// All threads pause at the same time, so that some readings find the process quiescent.
void rest() {
    const long left = 2 * kPhaseMs - phase_ms();
    const timespec pause{left / 1000, left % 1000 * 1'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
}

void touch_and_drop(std::size_t pages) {
    const Memory memory = map_or_die(pages, MAP_PRIVATE | MAP_ANONYMOUS);
    touch(memory);
    madvise(memory.data(), memory.size() / 2 / page_size() * page_size(), MADV_DONTNEED);
    touch(memory.first(page_size()));
    unmap_or_die(memory);
}

void share(std::size_t pages) {
    const Memory memory = map_or_die(pages, MAP_SHARED | MAP_ANONYMOUS);
    touch(memory);
    unmap_or_die(memory);
}

void read_and_copy(std::size_t pages) {
    static const core::Result<Fd> file = filled_file(std::size_t{256} * page_size());
    if (!file) return share(pages);  // no file with file pages here
    const Memory memory = map_or_die(std::min<std::size_t>(pages, 256), MAP_PRIVATE, file->get());
    read_pages(memory);
    touch(memory.first(memory.size() / 2 / page_size() * page_size()));
    unmap_or_die(memory);
}

void come_and_go(std::size_t pages) {
    pthread_t handle{};
    auto *const work = +[](void *argument) -> void * {
        touch_and_drop(*static_cast<std::size_t *>(argument));
        return nullptr;
    };
    if (pthread_create(&handle, nullptr, work, &pages) == 0) pthread_join(handle, nullptr);
}

/// Forks a child that writes to its copy of `memory`, or, with `exec`, executes another program.
void have_children(Memory memory, bool exec) {
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (exec) execl("/bin/true", "true", nullptr);
        touch(memory);
        _exit(0);
    }
    if (pid > 0) waitpid(pid, nullptr, 0);
}

void act(std::minstd_rand &random) {
    const std::size_t pages = std::uniform_int_distribution<std::size_t>(2, 300)(random);
    switch (std::uniform_int_distribution<int>(0, 11)(random)) {
        case 0: share(pages); break;
        case 1:
        case 2: read_and_copy(pages); break;
        case 3: come_and_go(pages); break;
        case 4: {
            const Memory memory = map_or_die(pages, MAP_PRIVATE | MAP_ANONYMOUS);
            touch(memory);
            have_children(memory, random() % 2 == 0);
            unmap_or_die(memory);
            break;
        }
        default: touch_and_drop(pages); break;
    }
}

void mix(Worker &worker) {
    std::minstd_rand random(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(&worker) >> 6));
    act(random);
    worker.ready.raise();
    for (;;) {
        if (phase_ms() >= kPhaseMs) rest();
        act(random);
    }
}

}  // namespace

Started start_mixed(const Options &given) {
    auto size = sizes(given, {.threads = 4});
    if (!size) return size.error();
    auto workers = WorkerPool::start(size->threads, 0, mix);
    if (!workers) return workers.error();
    return Facts{number("threads", size->threads)};
}

}  // namespace rsslag::workload
