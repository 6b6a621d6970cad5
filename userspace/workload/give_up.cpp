// SPDX-License-Identifier: BSD-2-Clause
#include "give_up.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "failure.h"

namespace rsslag::workload {

void give_up(const core::Error &error) {
    const std::string line = "workload: " + error.what + "\n";
    [[maybe_unused]] const ssize_t put = write(STDERR_FILENO, line.data(), line.size());
    _exit(1);
}

Memory map_or_give_up(std::size_t pages, int flags, int fd) {
    void *const at = mmap(nullptr, pages * page_size(), PROT_READ | PROT_WRITE, flags, fd, 0);
    if (at == MAP_FAILED) give_up(failed("mmap", errno));
    const Memory memory(static_cast<std::byte *>(at), pages * page_size());
    if (auto ok = forbid_huge_pages(memory); !ok) give_up(ok.error());
    return memory;
}

void unmap_or_give_up(Memory memory) {
    if (munmap(memory.data(), memory.size()) != 0) give_up(failed("munmap", errno));
}

}  // namespace rsslag::workload
