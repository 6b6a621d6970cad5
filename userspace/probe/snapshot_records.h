// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>
#include <vector>

#include "core/reading.h"
#include "core/result.h"

namespace rsslag::probe {

/// Decodes the bytes of one pass (include/rsslag/abi.h); `took_us` stays 0. Kind::Gone if the pass found no task,
/// Kind::Internal if the bytes are malformed. Pure.
core::Result<core::CounterReading> unpack_snapshot(core::Scheme scheme, std::span<const char> bytes);

/// Decodes the bytes of a pass over all tasks to processes, ascending by host TGID. On the `thread` scheme `cached` of
/// an mm is the sum over all its tasks, of all groups. Kind::Internal if the bytes are malformed. Pure.
core::Result<std::vector<core::ProcessTotal>> unpack_totals(core::Scheme scheme, std::span<const char> bytes);

}  // namespace rsslag::probe
