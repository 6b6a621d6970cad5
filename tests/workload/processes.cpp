// SPDX-License-Identifier: BSD-2-Clause
// Workloads of more than one process.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <sstream>
#include <string>

#include "child.h"
#include "test_starts.h"
#include "workload/die.h"
#include "workload/failure.h"
#include "workload/proc_text.h"
#include "workload/worker_pool.h"

namespace rsslag::workload {
namespace {

constexpr std::chrono::seconds kStatePatience{60};

/// State and minor faults (fields 3 and 10) in /proc/PID/stat.
struct TaskState {
    char state = '?';
    std::int64_t faults = 0;

    bool operator==(const TaskState &) const = default;
};

core::Result<TaskState> read_state(pid_t pid) {
    auto stat = read_text("/proc/" + std::to_string(pid) + "/stat");
    if (!stat) return stat.error();
    std::istringstream fields(stat->substr(stat->rfind(')') + 1));
    TaskState task;
    std::string skipped;
    fields >> task.state;
    for (int field = 4; field < 10; ++field)
        fields >> skipped;
    fields >> task.faults;
    return task;
}

/// Waits until the process sleeps and has not faulted since the previous check. A foreign program does not report that
/// it has settled, and may sleep for a moment before (for example on a page lock).
core::Status await_settled(pid_t pid) {
    const auto deadline = std::chrono::steady_clock::now() + kStatePatience;
    std::optional<TaskState> before;
    for (;;) {
        auto now = read_state(pid);
        if (!now) return now.error();
        if (now->state == 'S' && before == *now) return core::success();
        if (std::chrono::steady_clock::now() > deadline) {
            return core::Error{core::Kind::Internal, "the child program does not settle", 0, ""};
        }
        before = *now;
        poll(nullptr, 0, 20);
    }
}

/// A worker that outlives its leader. PR_SET_PDEATHSIG is per thread, so the worker sets its own.
void outlive(Worker &worker) {
    if (!die_with(getppid())) _exit(1);
    touch_and_wait(worker);
}

/// Ends the calling thread only; a return from main, or _exit(), would end the process.
void leave_alone() {
    syscall(SYS_exit, 0);
}

core::Status await_zombie(pid_t pid) {
    const auto deadline = std::chrono::steady_clock::now() + kStatePatience;
    for (;;) {
        auto now = read_state(pid);
        if (!now) return now.error();
        if (now->state == 'Z') return core::success();
        if (std::chrono::steady_clock::now() > deadline) {
            return core::Error{core::Kind::Internal, "the leader does not end", 0, ""};
        }
        poll(nullptr, 0, 1);  // a pidfd becomes readable only when the whole group has ended
    }
}

}  // namespace

Started start_fork_cow(const Options &given) {
    auto size = sizes(given, {.kb = 8192});
    if (!size) return size.error();
    auto memory = map_private(size->bytes());
    if (!memory) return memory.error();
    touch(*memory);
    const std::size_t quarter = memory->size() / page_size() / 4 * page_size();
    auto child = fork_sleeper([&] {
        touch(memory->first(quarter));
        return core::success();
    });
    if (!child) return child.error();
    touch(memory->last(quarter));
    return Facts{number("child", *child), number("touched_kb", kb_of(memory->size())),
                 number("copied_kb", kb_of(quarter)), mapping_fact(*memory)};
}

Started start_after_exec(const Options &given) {
    if (auto none = sizes(given, {}); !none) return none.error();
    auto child = fork_child([]() -> core::Status {
        // Not "infinity", which busybox does not accept.
        execlp("sleep", "sleep", "1000000000", nullptr);
        return failed("cannot run sleep", errno, "install a sleep program in PATH");
    });
    if (!child) return child.error();
    auto outcome = await_report(*child);  // the exec closes the pipe
    if (!outcome) return outcome.error();
    if (auto ok = await_settled(child->pid); !ok) return ok.error();
    return Facts{number("child", child->pid)};
}

Started start_leader_gone(const Options &given) {
    auto size = sizes(given, {.threads = 4, .kb = 240});
    if (!size) return size.error();
    auto child = fork_child(
        [&]() -> core::Status {
            auto workers = WorkerPool::start(size->threads, size->bytes(), outlive);
            if (!workers) return workers.error();
            return await_sleep(getpid());
        },
        leave_alone);
    if (!child) return child.error();
    auto outcome = await_report(*child);
    if (!outcome) return outcome.error();
    if (*outcome == Outcome::Ended) return core::Error{core::Kind::Internal, "the workload's child died", 0, ""};
    if (auto ok = await_zombie(child->pid); !ok) return ok.error();
    return Facts{number("child", child->pid), number("threads", size->threads), number("touched_kb", size->total_kb())};
}

}  // namespace rsslag::workload
