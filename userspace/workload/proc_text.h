// SPDX-License-Identifier: BSD-2-Clause
// The few values in /proc and /sys that workloads read to check their own result. They do not use the parsers of the
// procfs module, which the tests check with these workloads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace rsslag::workload {

core::Result<std::string> read_text(const std::string &path);

/// The number at the start of a file like /proc/sys/vm/nr_hugepages.
core::Result<std::int64_t> read_number(const std::string &path);

/// The number after `label`, which is at the start of a line: labelled_kb(meminfo, "MemAvailable:").
std::optional<std::int64_t> labelled_kb(std::string_view text, std::string_view label);

}  // namespace rsslag::workload
