// SPDX-License-Identifier: BSD-2-Clause
#include "system/experiment.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "procfs/process.h"

namespace rsslag::system {
namespace {

// Fewer than the smallest batch of a CPU (32) and than the faults after which a thread flushes (66).
constexpr std::size_t kPages = 24;

/// Private anonymous memory that has no pages yet.
class UntouchedPages {
  public:
    explicit UntouchedPages(std::size_t page)
        : page_(page),
          memory_(mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        if (memory_ != MAP_FAILED) madvise(memory_, kPages * page, MADV_NOHUGEPAGE);
    }
    ~UntouchedPages() {
        if (memory_ != MAP_FAILED) munmap(memory_, kPages * page_);
    }
    UntouchedPages(const UntouchedPages &) = delete;
    UntouchedPages &operator=(const UntouchedPages &) = delete;

    bool untouched() const {
        std::array<unsigned char, kPages> resident{};
        if (memory_ == MAP_FAILED || mincore(memory_, kPages * page_, resident.data()) != 0) return false;
        return std::none_of(resident.begin(), resident.end(), [](unsigned char is) { return (is & 1) != 0; });
    }
    void touch(std::size_t index) { static_cast<volatile char *>(memory_)[index * page_] = 1; }

  private:
    std::size_t page_;
    void *memory_;
};

}  // namespace

core::Truth classify_steps(std::span<const std::int64_t> shown) {
    std::size_t rises = 0;
    std::size_t rests = 0;
    for (std::size_t i = 1; i < shown.size(); ++i) {
        if (shown[i] - shown[i - 1] == 1) ++rises;
        if (shown[i] == shown[i - 1]) ++rests;
    }
    const std::size_t most = shown.empty() ? 0 : (shown.size() - 1) * 3 / 4;
    if (most == 0) return core::Truth::Unknown;
    if (rises >= most) return core::Truth::Exact;
    return rests >= most ? core::Truth::Flushed : core::Truth::Unknown;
}

core::Calibration experiment() {
    const core::PageSize page_size{sysconf(_SC_PAGESIZE)};
    UntouchedPages pages(static_cast<std::size_t>(page_size.bytes));
    const auto self = procfs::Process::open(getpid());
    if (!self || !pages.untouched()) return {};
    std::vector<std::int64_t> status;
    std::vector<std::int64_t> stat;
    std::vector<std::int64_t> statm;
    for (auto *shown : {&status, &stat, &statm})
        shown->reserve(kPages + 1);
    // The first reads may allocate memory themselves: their values are dropped.
    for (std::size_t i = 0; i <= kPages + 1; ++i) {
        const auto status_file = self->status();
        const auto rss = self->leader_stat();
        const auto pages_of = self->statm();
        if (!status_file || !status_file->of(core::Member::Anon) || !rss || !pages_of) return {};
        if (i > 0) status.push_back(page_size.pages(*status_file->of(core::Member::Anon)).n);
        if (i > 0) stat.push_back(rss->rss.n);
        if (i > 0) statm.push_back(pages_of->resident.n);
        if (i > 0 && i <= kPages) pages.touch(i - 1);
    }
    return {.stat = classify_steps(stat), .statm = classify_steps(statm), .status = classify_steps(status)};
}

}  // namespace rsslag::system
