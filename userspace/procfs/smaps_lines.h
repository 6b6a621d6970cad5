// SPDX-License-Identifier: BSD-2-Clause
// The "Key:   value" lines of smaps and smaps_rollup, and the field for each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "procfs/files.h"

namespace rsslag::procfs {

/// The member of Mapping that stores the value of a line.
enum class Slot : std::uint8_t { Sum, Size, KernelPageSize, MmuPageSize, ThpEligible, ProtectionKey, VmFlags };

struct SmapsLine {
    std::string_view key;
    Slot slot = Slot::Sum;
    std::optional<core::Kilobytes> SmapsFields::*sum = nullptr;  ///< for Slot::Sum only
};

/// In the order in which kernels print them (fs/proc/task_mmu.c show_smap, __show_smap).
inline constexpr std::array<SmapsLine, 28> kSmapsLines{{
    {"Size", Slot::Size},
    {"KernelPageSize", Slot::KernelPageSize},
    {"MMUPageSize", Slot::MmuPageSize},
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
    {"THPeligible", Slot::ThpEligible},      // 0 or 1
    {"ProtectionKey", Slot::ProtectionKey},  // a number; only where the CPU has keys
    {"VmFlags", Slot::VmFlags},
}};

static_assert(kSmapsLines.back().key == "VmFlags", "the array has as many elements as are listed");

/// The value of a line for one mapping: kB, or a plain number for THPeligible and ProtectionKey. nullopt if this kernel
/// does not print the line, and for VmFlags, which is not a number.
inline std::optional<std::int64_t> number(const Mapping &mapping, const SmapsLine &line) {
    const auto kb = [](const std::optional<core::Kilobytes> &value) {
        return value ? std::optional(value->n) : std::nullopt;
    };
    switch (line.slot) {
        case Slot::Sum: return kb(mapping.fields.*line.sum);
        case Slot::Size: return mapping.size.n;
        case Slot::KernelPageSize: return kb(mapping.kernel_page_size);
        case Slot::MmuPageSize: return kb(mapping.mmu_page_size);
        case Slot::ThpEligible: return mapping.thp_eligible;
        case Slot::ProtectionKey: return mapping.protection_key;
        case Slot::VmFlags: break;
    }
    return std::nullopt;
}

}  // namespace rsslag::procfs
