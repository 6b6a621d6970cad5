// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>

#include "setting.h"
#include "test_starts.h"
#include "workload/failure.h"
#include "workload/memory.h"
#include "workload/proc_text.h"

namespace rsslag::workload {
namespace {

constexpr const char *kNoKsm = "this kernel has no KSM";
constexpr const char *kKernelWithKsm = "boot a kernel built with CONFIG_KSM=y";
constexpr std::chrono::seconds kMergePatience{60};

std::string setting(const char *name) {
    return std::string("/sys/kernel/mm/ksm/") + name;
}

/// The number of merged pages of this process (from 5.19 on), or of all processes.
std::int64_t merged() {
    if (const auto own = read_number("/proc/self/ksm_merging_pages")) return *own;
    const auto every = read_number(setting("pages_sharing"));
    return every ? *every : 0;
}

/// Polls, as ksmd gives no notification of a merge, until `requested` more pages than `least` are merged. Returns how
/// many more.
core::Result<std::int64_t> await_merged(std::int64_t least, std::int64_t requested) {
    const auto deadline = std::chrono::steady_clock::now() + kMergePatience;
    for (;;) {
        const std::int64_t now = merged();
        if (now - least >= requested) return now - least;
        least = std::min(least, now);  // the count of all processes falls when others end
        if (std::chrono::steady_clock::now() > deadline) {
            return unsupported("ksmd merged too few pages in a minute", "use an idle machine");
        }
        poll(nullptr, 0, 20);
    }
}

}  // namespace

Started start_ksm(const Options &given) {
    auto size = sizes(given, {.kb = 4096});
    if (!size) return size.error();
    auto memory = map_private(size->bytes());
    if (!memory) return memory.error();
    touch(*memory);  // the same byte in each page: all pages are equal, and none is all zeroes
    // Merged pages stay merged when ksmd stops.
    auto run = BorrowedSetting::lock(setting("run"));
    if (!run && run.error().err == ENOENT) return unsupported(kNoKsm, kKernelWithKsm);
    if (!run) return run.error();
    if (auto ok = run->set("1"); !ok) {
        return core::Error{core::Kind::Denied, "cannot enable KSM: " + ok.error().what, ok.error().err,
                           "run rsslag as root"};
    }
    auto pages = BorrowedSetting::lock(setting("pages_to_scan"));
    auto pause = BorrowedSetting::lock(setting("sleep_millisecs"));
    // Only for speed; the kernel refuses them while a KSM advisor is active.
    if (pages) static_cast<void>(pages->set("5000"));
    if (pause) static_cast<void>(pause->set("10"));
    // Only under the lock: otherwise the scan of another workload could merge these pages before this one counts.
    const std::int64_t before = merged();
    if (madvise(memory->data(), memory->size(), MADV_MERGEABLE) != 0) {
        return errno == EINVAL ? unsupported(kNoKsm, kKernelWithKsm) : failed("madvise(MADV_MERGEABLE)", errno);
    }
    const auto requested = static_cast<std::int64_t>(memory->size() / page_size() / 2);
    auto pages_merged = await_merged(before, requested);
    if (!pages_merged) return pages_merged.error();
    if (auto ok = run->restore(); !ok) return ok.error();
    return Facts{number("touched_kb", kb_of(memory->size())), number("merged_pages", *pages_merged),
                 mapping_fact(*memory)};
}

}  // namespace rsslag::workload
