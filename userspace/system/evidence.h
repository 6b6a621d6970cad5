// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>

#include "core/reading.h"
#include "core/reconcile.h"
#include "procfs/process.h"

namespace rsslag::system {

/// Gathers facts that may explain a residual of `process`: whether a task is in execve, the total size of `mappings`,
/// and the number of poisoned pages. Facts that cannot be read stay nullopt.
core::Evidence gather_evidence(const procfs::Process &process, const core::CounterReading &reading,
                               std::span<const procfs::Mapping> mappings, const core::PageSize &page_size);

/// Whether memory of the machine has failed: "HardwareCorrupted:" of /proc/meminfo is not 0.
bool machine_has_poisoned_pages();

}  // namespace rsslag::system
