// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>

#include <cerrno>
#include <string>

#include "pages.h"
#include "test_starts.h"
#include "workload/failure.h"
#include "workload/memory.h"
#include "workload/proc_text.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

namespace rsslag::workload {
namespace {

constexpr const char *kRemedy = "enable swap on a file or zram with at least 20 MiB free (swapon)";
constexpr std::size_t kShmemBytes = std::size_t{4} << 20;

bool swap_is_on() {
    const auto swaps = read_text("/proc/swaps");
    return swaps && swaps->find("\n/") != std::string::npos;
}

/// Tries three times: pages that are not on an LRU list yet are skipped by the kernel, and a later try may find them.
core::Status page_out(Memory memory) {
    for (int attempt = 0; attempt < 3; ++attempt) {
        if (madvise(memory.data(), memory.size(), MADV_PAGEOUT) != 0) {
            return failed("madvise(MADV_PAGEOUT)", errno, "use Linux 5.4 or later");
        }
    }
    return core::success();
}

}  // namespace

Started start_swap(const Options &given) {
    auto size = sizes(given, {.kb = 16 * 1024});
    if (!size) return size.error();
    if (!swap_is_on()) return unsupported("no swap is enabled", kRemedy);
    auto memory = map_private(size->bytes());
    if (!memory) return memory.error();
    auto shared = map_anonymous(kShmemBytes, MAP_SHARED);
    if (!shared) return shared.error();
    for (Memory part : {*memory, *shared}) {
        touch(part);
        if (auto ok = page_out(part); !ok) return ok.error();
    }
    auto swapped = smaps_kb(*memory, "Swap:");
    if (!swapped) return swapped.error();
    if (*swapped == 0) return unsupported("nothing was swapped out", kRemedy);
    auto shared_swapped = smaps_kb(*shared, "Swap:");
    if (!shared_swapped) return shared_swapped.error();
    return Facts{number("touched_kb", kb_of(memory->size() + shared->size())), number("swapped_kb", *swapped),
                 number("shmem_swapped_kb", *shared_swapped), mapping_fact(*memory)};
}

}  // namespace rsslag::workload
