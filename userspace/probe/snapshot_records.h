// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>
#include <vector>

#include "rsslag/core/reading.h"
#include "rsslag/core/result.h"

namespace rsslag::probe {

/// Bytes of one pass (include/rsslag/abi.h) → a reading; `took_us` stays 0. Pure. Kind::Gone where the pass found no
/// task, Kind::Internal where the bytes are not what the program writes.
core::Result<core::CounterReading> unpack_snapshot(core::Scheme scheme, std::span<const char> bytes);

/// Bytes of a pass over all tasks → its processes, ascending by host TGID. An mm's cache is the sum over all of its
/// tasks (`thread`), whichever group they are of. Pure.
core::Result<std::vector<core::ProcessTotal>> unpack_totals(core::Scheme scheme, std::span<const char> bytes);

}  // namespace rsslag::probe
