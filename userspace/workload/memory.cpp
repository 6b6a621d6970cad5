// SPDX-License-Identifier: BSD-2-Clause
#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "failure.h"

namespace rsslag::workload {

std::size_t page_size() {
    static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

core::Result<Memory> map_guarded(std::size_t bytes, Mapping how) {
    const std::size_t guard = page_size();
    void *const space = mmap(nullptr, bytes + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return failed("mmap", errno, "use a smaller --kb or --threads");
    auto *const inner = static_cast<std::byte *>(space) + guard;
    if (mmap(inner, bytes, how.prot, how.flags | MAP_FIXED, how.fd, 0) == MAP_FAILED) {
        const int err = errno;
        munmap(space, bytes + 2 * guard);
        return failed("mmap", err, err == ENOMEM ? "use a smaller --kb or --threads" : "");
    }
    return Memory(inner, bytes);
}

core::Status forbid_huge_pages(Memory memory) {
    if (madvise(memory.data(), memory.size(), MADV_NOHUGEPAGE) != 0 && errno != EINVAL) {
        return failed("madvise(MADV_NOHUGEPAGE)", errno);
    }
    return core::success();
}

core::Result<Memory> map_anonymous(std::size_t bytes, int sharing) {
    auto memory = map_guarded(bytes, {PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS});
    if (!memory) return memory.error();
    if (auto ok = forbid_huge_pages(*memory); !ok) return ok.error();
    return *memory;
}

core::Result<Memory> map_private(std::size_t bytes) {
    return map_anonymous(bytes, MAP_PRIVATE);
}

void touch(Memory memory) {
    for (std::size_t at = 0; at < memory.size(); at += page_size()) {
        *static_cast<volatile std::byte *>(&memory[at]) = std::byte{1};
    }
}

Fact mapping_fact(Memory memory) {
    std::array<char, 64> text{};
    const auto from = reinterpret_cast<std::uintptr_t>(memory.data());
    std::snprintf(text.data(), text.size(), "%08zx-%08zx", static_cast<std::size_t>(from), from + memory.size());
    return {"mapping", text.data()};
}

}  // namespace rsslag::workload
