// SPDX-License-Identifier: BSD-2-Clause
#include "quiescence.h"

#include <dirent.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "failure.h"
#include "proc_text.h"
#include "workload/workload.h"

namespace rsslag::workload {
namespace {

// Needed for 10,000 threads in a VM without hardware virtualisation; other machines never wait this long.
constexpr std::chrono::seconds kSleepPatience{120};

core::Result<std::vector<std::string>> task_directories(pid_t pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/task";
    const std::unique_ptr<DIR, int (*)(DIR *)> directory(opendir(path.c_str()), closedir);
    if (!directory) return failed("cannot list " + path, errno);
    std::vector<std::string> tasks;
    while (const dirent *entry = readdir(directory.get())) {
        if (entry->d_name[0] != '.') tasks.push_back(path + "/" + entry->d_name);
    }
    return tasks;
}

bool asleep(const std::string &task) {
    const auto stat = read_text(task + "/stat");
    if (!stat) return true;                         // the task has ended
    const std::size_t comm_end = stat->rfind(')');  // comm may contain anything, including brackets
    if (comm_end == std::string::npos || comm_end + 2 >= stat->size()) return false;
    const char state = (*stat)[comm_end + 2];
    return state == 'S' || state == 'Z';
}

std::string task_directory(pid_t pid, pid_t tid) {
    return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid);
}

core::Status await_sleep_of(std::vector<std::string> tasks) {
    const auto deadline = std::chrono::steady_clock::now() + kSleepPatience;
    for (;;) {
        std::erase_if(tasks, asleep);
        if (tasks.empty()) return core::success();
        if (std::chrono::steady_clock::now() > deadline) {
            return core::Error{core::Kind::Internal, tasks.front() + " does not go to sleep", 0, ""};
        }
        sched_yield();
    }
}

}  // namespace

void Signal::raise() {
    raised.store(1, std::memory_order_release);
    syscall(SYS_futex, &raised, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void Signal::await() {
    while (raised.load(std::memory_order_acquire) == 0) {
        syscall(SYS_futex, &raised, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
}

void sleep_forever() {
    for (;;) {
        syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0);
    }
}

void sleep_part(std::chrono::milliseconds whole, std::size_t parts) {
    if (whole.count() <= 0 || parts == 0) return;
    std::this_thread::sleep_for(std::chrono::nanoseconds(whole) / parts);
}

core::Status await_sleep(pid_t pid) {
    auto tasks = task_directories(pid);
    if (!tasks) return tasks.error();
    std::erase(*tasks, task_directory(pid, gettid()));
    return await_sleep_of(std::move(*tasks));
}

core::Status await_rest(pid_t pid) {
    return await_sleep_of({task_directory(pid, pid)});
}

}  // namespace rsslag::workload
