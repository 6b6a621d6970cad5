// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "rsslag/abi.h"
#include "rsslag/sinks/row.h"

namespace rsslag::trace {

/// The page fault that caused the record; nullopt: none.
inline std::optional<sinks::FaultCause> cause_of(std::uint16_t flags, std::uint64_t address) {
    if ((flags & RSSLAG_OF_USER_FAULT) != 0) return sinks::FaultCause{false, address};
    if ((flags & RSSLAG_OF_KERNEL_FAULT) != 0) return sinks::FaultCause{true, address};
    return std::nullopt;
}

/// The page fault of a fault record, which always has an address. `kernel` is nullopt if the flags have neither mode.
inline sinks::FaultCause cause_of(const rsslag_fault &fault) {
    return cause_of(fault.flags, fault.address).value_or(sinks::FaultCause{std::nullopt, fault.address});
}

}  // namespace rsslag::trace
