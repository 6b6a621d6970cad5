// SPDX-License-Identifier: BSD-2-Clause
#include "die.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "failure.h"

namespace rsslag::workload {

void die(const core::Error &error) {
    const std::string line = "workload: " + error.what + "\n";
    [[maybe_unused]] const ssize_t put = write(STDERR_FILENO, line.data(), line.size());
    _exit(1);
}

core::Status die_with(pid_t parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return failed("prctl(PR_SET_PDEATHSIG)", errno);
    if (getppid() != parent) raise(SIGKILL);  // the parent ended before the prctl, so no signal would come
    return core::success();
}

Memory map_or_die(std::size_t pages, int flags, int fd) {
    void *const at = mmap(nullptr, pages * page_size(), PROT_READ | PROT_WRITE, flags, fd, 0);
    if (at == MAP_FAILED) die(failed("mmap", errno));
    const Memory memory(static_cast<std::byte *>(at), pages * page_size());
    if (auto ok = forbid_huge_pages(memory); !ok) die(ok.error());
    return memory;
}

void unmap_or_die(Memory memory) {
    if (munmap(memory.data(), memory.size()) != 0) die(failed("munmap", errno));
}

}  // namespace rsslag::workload
