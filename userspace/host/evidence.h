// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>

#include "rsslag/core/reading.h"
#include "rsslag/core/reconcile.h"
#include "rsslag/procfs/process.h"

namespace rsslag::host {

/// Gathers what may explain a residual of `process`: whether a task is inside execve, how much the listed mappings
/// span, how many of its pages are poisoned. What cannot be read stays unknown and explains nothing.
core::Evidence gather_evidence(const procfs::Process &process, const core::CounterReading &reading,
                               std::span<const procfs::Mapping> mappings, const core::PageSize &page_size);

/// Whether the machine has pages that failed ("HardwareCorrupted:" of /proc/meminfo).
bool machine_has_poisoned_pages();

}  // namespace rsslag::host
