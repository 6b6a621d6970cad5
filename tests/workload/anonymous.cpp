// SPDX-License-Identifier: BSD-2-Clause
// Workloads of one thread and private anonymous memory, one for each way in which pages come and go.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "pages.h"
#include "test_starts.h"
#include "workload/failure.h"
#include "workload/memory.h"

namespace rsslag::workload {
namespace {

constexpr std::int64_t kDefaultAnonKb = 8192;

/// Maps and touches whole pages.
core::Result<Memory> touched(const Options &given) {
    auto size = sizes(given, {.kb = kDefaultAnonKb});
    if (!size) return size.error();
    auto memory = map_private(size->bytes());
    if (memory) touch(*memory);
    return memory;
}

Facts facts_of(Memory memory) {
    return {number("touched_kb", kb_of(memory.size())), mapping_fact(memory)};
}

bool all_resident(Memory memory) {
    std::vector<unsigned char> resident(memory.size() / page_size());
    return mincore(memory.data(), memory.size(), resident.data()) == 0 &&
           std::ranges::all_of(resident, [](unsigned char page) { return (page & 1) != 0; });
}

/// Locks `memory`, or the part of it that RLIMIT_MEMLOCK allows unless `all_requested`. Returns the locked bytes.
core::Result<std::size_t> lock_some(Memory memory, bool all_requested) {
    if (mlock(memory.data(), memory.size()) == 0) return memory.size();
    const int err = errno;
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    const std::size_t within = std::min<std::size_t>(limit.rlim_cur, memory.size()) / page_size() * page_size();
    if (!all_requested && within > 0 && mlock(memory.data(), within) == 0) return within;
    core::Error error = failed("mlock", err, "raise ulimit -l (now " + std::to_string(limit.rlim_cur / 1024) + " kB)");
    error.kind = core::Kind::Denied;
    return error;
}

}  // namespace

Started start_populate(const Options &given) {
    auto size = sizes(given, {.kb = kDefaultAnonKb});
    if (!size) return size.error();
    // madvise would be too late: mmap populates the mapping before it returns.
    if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) return failed("prctl(PR_SET_THP_DISABLE)", errno);
    auto memory = map_guarded(size->bytes(), {PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE});
    if (!memory) return memory.error();
    // mmap succeeds even if populating failed.
    if (!all_resident(*memory)) return unsupported("MAP_POPULATE did not populate all pages", "use a smaller --kb");
    return facts_of(*memory);
}

Started start_mlock(const Options &given) {
    auto size = sizes(given, {.kb = 4096});
    if (!size) return size.error();
    auto memory = map_private(size->bytes());
    if (!memory) return memory.error();
    auto locked = lock_some(*memory, given.kb.has_value());
    if (!locked) return locked.error();
    return Facts{number("locked_kb", kb_of(*locked)), mapping_fact(*memory)};
}

Started start_zero_page(const Options &given) {
    auto size = sizes(given, {.kb = kDefaultAnonKb});
    if (!size) return size.error();
    auto memory = map_private(size->bytes());
    if (!memory) return memory.error();
    read_pages(*memory);  // each maps the zero page, which no counter includes
    const auto resident = smaps_kb(*memory, "Rss:");
    if (!resident) return resident.error();
    // Seen on a 6.18 kernel: a read fault allocates a page.
    if (*resident != 0)
        return unsupported("this kernel does not map the zero page on a read fault", "boot another kernel");
    return Facts{number("read_kb", kb_of(memory->size())), mapping_fact(*memory)};
}

Started start_dontneed(const Options &given) {
    auto memory = touched(given);
    if (!memory) return memory.error();
    const Memory second = memory->subspan(half_of(*memory));
    if (madvise(second.data(), second.size(), MADV_DONTNEED) != 0) return failed("madvise(MADV_DONTNEED)", errno);
    Facts facts = facts_of(*memory);
    facts.push_back(number("dropped_kb", kb_of(second.size())));
    return facts;
}

Started start_free(const Options &given) {
    auto memory = touched(given);
    if (!memory) return memory.error();
    const Memory second = memory->subspan(half_of(*memory));
    if (madvise(second.data(), second.size(), MADV_FREE) != 0) return failed("madvise(MADV_FREE)", errno);
    const Memory again = second.first(std::min(second.size(), 16 * page_size()));
    touch(again);  // a page that is written again is no longer lazily freed
    Facts facts = facts_of(*memory);
    facts.push_back(number("freed_kb", kb_of(second.size())));
    facts.push_back(number("written_again_kb", kb_of(again.size())));
    return facts;
}

Started start_mremap(const Options &given) {
    auto memory = touched(given);
    if (!memory) return memory.error();
    const std::size_t whole = memory->size(), quarter = half_of(memory->first(half_of(*memory)));
    auto place = map_guarded(whole + quarter, {PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE});
    if (!place) return place.error();
    void *at = mremap(memory->data(), whole, whole, MREMAP_MAYMOVE | MREMAP_FIXED, place->data());
    if (at == MAP_FAILED) return failed("mremap (move)", errno);
    at = mremap(at, whole, whole - quarter, 0);
    if (at == MAP_FAILED) return failed("mremap (shrink)", errno);
    at = mremap(at, whole - quarter, whole + quarter, MREMAP_MAYMOVE);
    if (at == MAP_FAILED) return failed("mremap (grow)", errno);
    const Memory grown(static_cast<std::byte *>(at), whole + quarter);
    touch(grown.subspan(whole));  // the part that was cut off and added again has no resident pages
    return Facts{number("touched_kb", kb_of(whole)), mapping_fact(grown)};
}

}  // namespace rsslag::workload
