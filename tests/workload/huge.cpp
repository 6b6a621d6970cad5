// SPDX-License-Identifier: BSD-2-Clause
// Huge pages: transparent ones, which count as base pages, and hugetlb pages, which no member counts.
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cerrno>
#include <string>

#include "pages.h"
#include "setting.h"
#include "test_starts.h"
#include "workload/failure.h"
#include "workload/memory.h"
#include "workload/proc_text.h"

namespace rsslag::workload {
namespace {

constexpr std::int64_t kHugetlbPages = 2;
constexpr const char *kTransparent = "/sys/kernel/mm/transparent_hugepage/";
constexpr const char *kNrHugepages = "/proc/sys/vm/nr_hugepages";

/// The part of `memory` from its first huge page boundary on.
Memory aligned(Memory memory, std::size_t huge) {
    const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.subspan((huge - at % huge) % huge);
}

std::string no_hugetlb() {
    return "this kernel has no hugetlb pages";
}

/// Raises nr_hugepages until `requested` pages are free. When the old number is restored, pages in use become surplus:
/// they remain until their mapping is removed.
core::Status raise_to(BorrowedSetting &pool, std::int64_t requested) {
    auto meminfo = read_text("/proc/meminfo");
    if (!meminfo) return meminfo.error();
    const auto free = labelled_kb(*meminfo, "HugePages_Free:");
    const auto reserved = labelled_kb(*meminfo, "HugePages_Rsvd:");
    const auto surplus = labelled_kb(*meminfo, "HugePages_Surp:");
    const auto total = read_number(kNrHugepages);
    if (!free || !reserved || !surplus || !total)
        return unsupported(no_hugetlb(), "boot a kernel built with CONFIG_HUGETLBFS=y");
    const std::int64_t missing = requested - (*free - *reserved);
    if (missing <= 0) return core::success();
    // A larger pool takes over the surplus pages before it allocates new ones.
    const std::string more = std::to_string(*total + *surplus + missing);
    if (!pool.set(more)) return unsupported("too few free hugetlb pages", "run sysctl vm.nr_hugepages=" + more);
    return core::success();
}

}  // namespace

Started start_thp(const Options &given) {
    auto size = sizes(given, {.kb = 8192});
    if (!size) return size.error();
    const std::string remedy = std::string("run echo madvise > ") + kTransparent + "enabled";
    const auto enabled = read_text(std::string(kTransparent) + "enabled");
    if (!enabled)
        return unsupported("this kernel has no transparent huge pages",
                           "boot a kernel built with CONFIG_TRANSPARENT_HUGEPAGE=y");
    if (enabled->find("[never]") != std::string::npos) return unsupported("transparent huge pages are off", remedy);
    const auto huge = read_number(std::string(kTransparent) + "hpage_pmd_size");
    if (!huge) return huge.error();
    const auto huge_bytes = static_cast<std::size_t>(*huge);
    if (prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0) != 0) return failed("prctl(PR_SET_THP_DISABLE)", errno);

    auto space = map_guarded(size->bytes() + huge_bytes, {PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS});
    if (!space) return space.error();
    const Memory memory = aligned(*space, huge_bytes).first(size->bytes());
    if (madvise(memory.data(), memory.size(), MADV_HUGEPAGE) != 0) return failed("madvise(MADV_HUGEPAGE)", errno);
    touch(memory);
    auto got = smaps_kb(memory, "AnonHugePages:");
    if (!got) return got.error();
    if (*got == 0)
        return unsupported("no huge page could be allocated", "free memory, or use a --kb of at least one huge page");
    return Facts{number("touched_kb", kb_of(memory.size())), number("huge_kb", *got), mapping_fact(memory)};
}

Started start_hugetlb(const Options &given) {
    if (auto none = sizes(given, {}); !none) return none.error();
    auto pool = BorrowedSetting::lock(kNrHugepages);
    if (!pool) return unsupported(no_hugetlb(), "boot a kernel built with CONFIG_HUGETLBFS=y");
    if (auto ok = raise_to(*pool, kHugetlbPages); !ok) return ok.error();
    auto meminfo = read_text("/proc/meminfo");
    if (!meminfo) return meminfo.error();
    const auto huge_kb = labelled_kb(*meminfo, "Hugepagesize:");
    if (!huge_kb) return unsupported(no_hugetlb(), "boot a kernel built with CONFIG_HUGETLBFS=y");

    const auto bytes = static_cast<std::size_t>(*huge_kb * kHugetlbPages) * 1024;
    void *const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (at == MAP_FAILED) {
        return failed("mmap(MAP_HUGETLB)", errno, "free memory, then run sysctl vm.nr_hugepages=2");
    }
    const Memory memory(static_cast<std::byte *>(at), bytes);
    touch(memory);
    if (auto ok = pool->restore(); !ok) return ok.error();
    return Facts{number("hugetlb_kb", kb_of(bytes)), mapping_fact(memory)};
}

}  // namespace rsslag::workload
