// SPDX-License-Identifier: BSD-2-Clause
#include "evidence.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <span>
#include <string>

namespace rsslag::system {
namespace {

/// Whether a task is in execve. /proc/PID/task/TID/syscall starts with the number of a sleeping task's system call.
bool inside_execve(const procfs::Process &process, const core::TaskReading &task) {
    if (task.in_execve) return true;  // the kernel sets it only after it has copied the arguments
    const auto text = process.read(fmt::format("task/{}/syscall", task.tid).c_str());
    if (!text) return false;
    long number = -1;
    std::from_chars(text->bytes.data(), text->bytes.data() + text->bytes.size(), number);
    return number == SYS_execve || number == SYS_execveat;
}

core::Pages span_of(std::span<const procfs::Mapping> mappings, const core::PageSize &page_size) {
    core::Pages sum;
    for (const procfs::Mapping &mapping : mappings) {
        if (mapping.name != "[vsyscall]") sum += page_size.pages(mapping.size);  // not in the mm
    }
    return sum;
}

procfs::Fd pagemap_of(const procfs::Process &process) {
    auto pagemap = process.open_of_memory_task("pagemap");
    return pagemap ? *std::move(pagemap) : procfs::Fd();
}

/// Counts the swap-like entries of a pagemap whose page frame is marked as poisoned in /proc/kpageflags. Bit 63:
/// present; bit 62: swap-like. A swap-like entry has its type in bits 0–4 and its offset, which is the frame number of
/// a poisoned page, in bits 5–54 (Documentation/admin-guide/mm/pagemap.rst, include/linux/swapops.h).
class PoisonCounter {
  public:
    PoisonCounter(const procfs::Process &process, const core::PageSize &page_size)
        : pagemap_(pagemap_of(process)),
          flags_(open("/proc/kpageflags", O_RDONLY | O_CLOEXEC)),
          page_size_(page_size) {}

    bool able() const { return pagemap_.open() && flags_.open(); }

    std::optional<core::Pages> count(const procfs::Mapping &mapping) {
        core::Pages poisoned;
        const auto page_bytes = static_cast<std::uint64_t>(page_size_.bytes);
        for (std::uint64_t page = mapping.start / page_bytes; page < mapping.end / page_bytes;) {
            const std::size_t requested = std::min<std::size_t>(entries_.size(), mapping.end / page_bytes - page);
            const ssize_t got = pread(pagemap_.get(), entries_.data(), requested * sizeof(entries_[0]),
                                      static_cast<off_t>(page * sizeof(entries_[0])));
            if (got <= 0) return std::nullopt;
            const std::size_t entries = static_cast<std::size_t>(got) / sizeof(entries_[0]);
            for (std::size_t i = 0; i < entries; ++i)
                poisoned.n += is_poisoned(entries_[i]) ? 1 : 0;
            page += entries;
        }
        return poisoned;
    }

  private:
    bool is_poisoned(std::uint64_t entry) const {
        constexpr std::uint64_t kSwapLike = 1ULL << 62;
        constexpr std::uint64_t kHwpoisonFlag = 1ULL << 19;  // KPF_HWPOISON
        if ((entry & kSwapLike) == 0) return false;
        const std::uint64_t frame = (entry & ((1ULL << 55) - 1)) >> 5;
        std::uint64_t flags = 0;
        const ssize_t got = pread(flags_.get(), &flags, sizeof(flags), static_cast<off_t>(frame * sizeof(flags)));
        return got == sizeof(flags) && (flags & kHwpoisonFlag) != 0;
    }

    procfs::Fd pagemap_;
    procfs::Fd flags_;
    core::PageSize page_size_;
    std::array<std::uint64_t, 4096> entries_{};
};

std::optional<core::Pages> poisoned_pages(const procfs::Process &process, std::span<const procfs::Mapping> mappings,
                                          const core::PageSize &page_size) {
    if (!machine_has_poisoned_pages()) return core::Pages{};
    PoisonCounter counter(process, page_size);
    if (!counter.able()) return std::nullopt;
    core::Pages sum;
    for (const procfs::Mapping &mapping : mappings) {
        const auto poisoned = mapping.name == "[vsyscall]" ? std::optional(core::Pages{}) : counter.count(mapping);
        if (!poisoned) return std::nullopt;
        sum += *poisoned;
    }
    return sum;
}

}  // namespace

bool machine_has_poisoned_pages() {
    std::ifstream meminfo("/proc/meminfo");
    std::string key;
    std::int64_t kb = 0;
    std::string rest;
    while (meminfo >> key >> kb && std::getline(meminfo, rest)) {
        if (key == "HardwareCorrupted:") return kb > 0;
    }
    return false;
}

core::Evidence gather_evidence(const procfs::Process &process, const core::CounterReading &reading,
                               std::span<const procfs::Mapping> mappings, const core::PageSize &page_size) {
    core::Evidence evidence;
    evidence.in_execve = std::any_of(reading.tasks.begin(), reading.tasks.end(),
                                     [&](const core::TaskReading &task) { return inside_execve(process, task); });
    evidence.mapped = span_of(mappings, page_size);
    evidence.poisoned = poisoned_pages(process, mappings, page_size);
    return evidence;
}

}  // namespace rsslag::system
