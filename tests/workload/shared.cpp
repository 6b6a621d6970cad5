// SPDX-License-Identifier: BSD-2-Clause
// Memory that counts as shmem.
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include <cerrno>

#include "core/fd.h"
#include "test_starts.h"
#include "workload/failure.h"
#include "workload/memory.h"

namespace rsslag::workload {

using core::Fd;
namespace {

Facts touched_facts(Memory memory) {
    touch(memory);
    return {number("touched_kb", kb_of(memory.size())), mapping_fact(memory)};
}

}  // namespace

Started start_shared_anon(const Options &given) {
    auto size = sizes(given, {.kb = 50 * 1024});
    if (!size) return size.error();
    auto memory = map_anonymous(size->bytes(), MAP_SHARED);
    if (!memory) return memory.error();
    return touched_facts(*memory);
}

Started start_memfd(const Options &given) {
    auto size = sizes(given, {.kb = 8192});
    if (!size) return size.error();
    const Fd fd(memfd_create("rsslag", MFD_CLOEXEC));
    if (!fd.open()) return failed("memfd_create", errno);
    if (ftruncate(fd.get(), static_cast<off_t>(size->bytes())) != 0) return failed("ftruncate", errno);
    auto memory = map_guarded(size->bytes(), {PROT_READ | PROT_WRITE, MAP_SHARED, fd.get()});
    if (!memory) return memory.error();
    if (auto ok = forbid_huge_pages(*memory); !ok) return ok.error();
    return touched_facts(*memory);
}

Started start_sysv(const Options &given) {
    auto size = sizes(given, {.kb = 8192});
    if (!size) return size.error();
    const int id = shmget(IPC_PRIVATE, size->bytes(), IPC_CREAT | 0600);
    if (id < 0) return failed("shmget", errno, "raise kernel.shmmax, kernel.shmall or kernel.shmmni");
    void *const at = shmat(id, nullptr, 0);
    const int attach_err = errno;
    // Marked immediately, so that the segment is removed with its last user, however that ends.
    if (shmctl(id, IPC_RMID, nullptr) != 0) return failed("shmctl(IPC_RMID)", errno);
    if (reinterpret_cast<std::intptr_t>(at) == -1) return failed("shmat", attach_err);
    const Memory memory(static_cast<std::byte *>(at), size->bytes());
    if (auto ok = forbid_huge_pages(memory); !ok) return ok.error();
    return touched_facts(memory);
}

}  // namespace rsslag::workload
