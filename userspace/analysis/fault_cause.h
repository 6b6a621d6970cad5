// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "exporters/row.h"
#include "rsslag/abi.h"

namespace rsslag::analysis {

/// Whether the fault was in kernel mode; nullopt: the flags have neither mode.
inline std::optional<bool> in_kernel_mode(std::uint16_t flags) {
    if ((flags & RSSLAG_OF_USER_FAULT) != 0) return false;
    if ((flags & RSSLAG_OF_KERNEL_FAULT) != 0) return true;
    return std::nullopt;
}

/// The page fault that caused the update; nullopt: none.
inline std::optional<exporters::FaultCause> cause_of(const rsslag_update &update) {
    const auto kernel = in_kernel_mode(update.flags);
    return kernel ? std::optional(exporters::FaultCause{kernel, update.address}) : std::nullopt;
}

/// The page fault of a fault record, which always has an address.
inline exporters::FaultCause cause_of(const rsslag_fault &fault) {
    return {in_kernel_mode(fault.flags), fault.address};
}

}  // namespace rsslag::analysis
