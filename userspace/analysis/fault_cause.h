// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "exporters/row.h"
#include "rsslag/abi.h"

namespace rsslag::analysis {

/// The page fault that caused the record; nullopt: none.
inline std::optional<exporters::FaultCause> cause_of(std::uint16_t flags, std::uint64_t address) {
    if ((flags & RSSLAG_OF_USER_FAULT) != 0) return exporters::FaultCause{false, address};
    if ((flags & RSSLAG_OF_KERNEL_FAULT) != 0) return exporters::FaultCause{true, address};
    return std::nullopt;
}

/// The page fault of a fault record, which always has an address. `kernel` is nullopt if the flags have neither mode.
inline exporters::FaultCause cause_of(const rsslag_fault &fault) {
    return cause_of(fault.flags, fault.address).value_or(exporters::FaultCause{std::nullopt, fault.address});
}

}  // namespace rsslag::analysis
