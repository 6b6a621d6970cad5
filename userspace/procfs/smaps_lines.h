// SPDX-License-Identifier: BSD-2-Clause
// The "Key:   value" lines of smaps and smaps_rollup: which there are and where each value goes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "rsslag/procfs/files.h"

namespace rsslag::procfs {

/// Where a line's value goes.
enum class Slot : std::uint8_t { Sum, Size, KernelPageSize, VmFlags, Ignored };

struct SmapsLine {
    std::string_view key;
    Slot slot = Slot::Ignored;
    std::optional<core::Kilobytes> SmapsFields::*sum = nullptr;  ///< for Slot::Sum only
};

/// In the order in which kernels print them (fs/proc/task_mmu.c show_smap, __show_smap). Lines that are read but not
/// kept are here too, so that the next one is found at once.
inline constexpr std::array<SmapsLine, 28> kSmapsLines{{
    {"Size", Slot::Size},
    {"KernelPageSize", Slot::KernelPageSize},
    {"MMUPageSize"},
    {"Rss", Slot::Sum, &SmapsFields::rss},
    {"Pss", Slot::Sum, &SmapsFields::pss},
    {"Pss_Dirty", Slot::Sum, &SmapsFields::pss_dirty},  // 6.0
    {"Pss_Anon", Slot::Sum, &SmapsFields::pss_anon},    // these three in smaps_rollup only
    {"Pss_File", Slot::Sum, &SmapsFields::pss_file},
    {"Pss_Shmem", Slot::Sum, &SmapsFields::pss_shmem},
    {"Shared_Clean", Slot::Sum, &SmapsFields::shared_clean},
    {"Shared_Dirty", Slot::Sum, &SmapsFields::shared_dirty},
    {"Private_Clean", Slot::Sum, &SmapsFields::private_clean},
    {"Private_Dirty", Slot::Sum, &SmapsFields::private_dirty},
    {"Referenced", Slot::Sum, &SmapsFields::referenced},
    {"Anonymous", Slot::Sum, &SmapsFields::anonymous},
    {"KSM", Slot::Sum, &SmapsFields::ksm},  // 6.6
    {"LazyFree", Slot::Sum, &SmapsFields::lazy_free},
    {"AnonHugePages", Slot::Sum, &SmapsFields::anon_huge_pages},
    {"ShmemPmdMapped", Slot::Sum, &SmapsFields::shmem_pmd_mapped},
    {"FilePmdMapped", Slot::Sum, &SmapsFields::file_pmd_mapped},
    {"Shared_Hugetlb", Slot::Sum, &SmapsFields::shared_hugetlb},
    {"Private_Hugetlb", Slot::Sum, &SmapsFields::private_hugetlb},
    {"Swap", Slot::Sum, &SmapsFields::swap},
    {"SwapPss", Slot::Sum, &SmapsFields::swap_pss},
    {"Locked", Slot::Sum, &SmapsFields::locked},
    {"THPeligible"},    // 0 or 1
    {"ProtectionKey"},  // a number; only where the CPU has keys
    {"VmFlags", Slot::VmFlags},
}};

static_assert(kSmapsLines.back().key == "VmFlags", "the array has as many elements as are listed");

/// Finds a key. Each mapping repeats the lines of the one before, so a search goes on from the last hit and mostly ends
/// at its first try: ten thousand mappings are a quarter of a million lines.
class SmapsLineFinder {
  public:
    /// nullptr for a line that this table does not know.
    const SmapsLine *find(std::string_view key) {
        for (std::size_t tried = 0; tried < kSmapsLines.size(); ++tried) {
            const SmapsLine &line = kSmapsLines[next_];
            if (++next_ == kSmapsLines.size()) next_ = 0;
            if (line.key == key) return &line;
        }
        return nullptr;
    }

  private:
    std::size_t next_ = 0;
};

}  // namespace rsslag::procfs
