// SPDX-License-Identifier: BSD-2-Clause
// Memory of this process that tasks of other processes touch.
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <vector>

#include "child.h"
#include "test_starts.h"
#include "workload/failure.h"
#include "workload/memory.h"

namespace rsslag::workload {
namespace {

/// Arguments and results of the task that shares this mm.
struct SharingTask {
    Memory memory;
    pid_t parent = 0;
    int err = 0;
    Signal ready;
};

/// Runs in another process that shares this one's memory, including thread-local storage, while this one waits. It uses
/// system calls only, and no library function that keeps state.
int run_sharing(void *argument) {
    auto *sharing = static_cast<SharingTask *>(argument);
    if (syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL) != 0) sharing->err = errno;
    if (syscall(SYS_getppid) != sharing->parent) syscall(SYS_exit, 1);
    touch(sharing->memory);
    sharing->ready.raise();
    sleep_forever();
}

core::Error writer_refused(int err) {
    core::Error error = failed("process_vm_writev", err);
    if (err == ENOSYS) error.remedy = "boot a kernel built with CONFIG_CROSS_MEMORY_ATTACH=y";
    if (err == EPERM)
        error.remedy = "set kernel.yama.ptrace_scope to at most 1, and use a program without file capabilities";
    return error;
}

/// Runs in the child. `memory` has the same address in both processes.
core::Status write_into(pid_t target, Memory memory) {
    std::vector<std::byte> from(memory.size(), std::byte{1});
    std::size_t done = 0;
    while (done < memory.size()) {
        iovec local{from.data() + done, from.size() - done};
        iovec remote{memory.data() + done, memory.size() - done};
        const ssize_t put = process_vm_writev(target, &local, 1, &remote, 1, 0);
        if (put <= 0) return writer_refused(errno);
        done += static_cast<std::size_t>(put);
    }
    return core::success();
}

}  // namespace

Started start_clone_vm(const Options &given) {
    auto size = sizes(given, {.kb = 98 * 4});
    if (!size) return size.error();
    auto memory = map_private(size->bytes());
    if (!memory) return memory.error();
    auto stack = map_private(16 * page_size());
    if (!stack) return stack.error();
    auto *const sharing = std::make_unique<SharingTask>().release();  // never freed: the other task uses it too
    sharing->memory = *memory;
    sharing->parent = getpid();
    const int pid = clone(run_sharing, stack->data() + stack->size(), CLONE_VM | SIGCHLD, sharing);
    if (pid < 0) return failed("clone(CLONE_VM)", errno);
    sharing->ready.await();
    if (sharing->err != 0) return failed("prctl(PR_SET_PDEATHSIG)", sharing->err);
    if (auto ok = await_sleep(pid); !ok) return ok.error();
    return Facts{number("child", pid), number("touched_kb", kb_of(memory->size())), mapping_fact(*memory)};
}

Started start_remote_write(const Options &given) {
    auto size = sizes(given, {.kb = 300 * 4});
    if (!size) return size.error();
    auto memory = map_private(size->bytes());
    if (!memory) return memory.error();
    const pid_t target = getpid();
    // With Yama a child may not trace its parent otherwise. Without Yama: EINVAL, and it is not needed.
    if (prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY) != 0 && errno != EINVAL) {
        return failed("prctl(PR_SET_PTRACER)", errno);
    }
    auto writer = fork_sleeper([&] { return write_into(target, *memory); });
    if (prctl(PR_SET_PTRACER, 0) != 0 && errno != EINVAL) return failed("prctl(PR_SET_PTRACER)", errno);
    if (!writer) return writer.error();
    return Facts{number("writer", *writer), number("touched_kb", kb_of(memory->size())), mapping_fact(*memory)};
}

}  // namespace rsslag::workload
