// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "rsslag/core/process_reading.h"
#include "rsslag/core/raw_reading.h"
#include "rsslag/core/scheme.h"

namespace rsslag::trace {

/// An opaque id, equal for processes that share an mm. It mixes the kernel address with `key`, so that users cannot see
/// the address. `generation` distinguishes mms that had the same address. Pure.
std::string mm_id(std::uint64_t key, std::uint64_t mm, std::uint64_t generation = 0);

/// Reconciles a reading. Pure.
core::ProcessReading process_reading_of(const core::RawReading &raw, const core::Machine &machine,
                                        std::uint64_t id_key);

}  // namespace rsslag::trace
