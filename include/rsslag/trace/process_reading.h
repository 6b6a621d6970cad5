// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "rsslag/core/process_reading.h"
#include "rsslag/core/raw_reading.h"
#include "rsslag/core/scheme.h"

namespace rsslag::trace {

/// Opaque; equal for processes that share an mm. Kernel addresses leave the program only mixed with `key`. Where mms
/// had the same address one after another, `generation` tells them apart. Pure.
std::string mm_id(std::uint64_t key, std::uint64_t mm, std::uint64_t generation = 0);

/// What a reading comes to. Pure.
core::ProcessReading process_reading_of(const core::RawReading &raw, const core::Machine &machine,
                                        std::uint64_t id_key);

}  // namespace rsslag::trace
