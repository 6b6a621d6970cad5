// SPDX-License-Identifier: BSD-2-Clause
// The little that workloads must read of /proc and /sys to know whether they did what they promise. The parsers of
// the procfs room are for judging others; a workload reports on itself without them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "memory.h"
#include "rsslag/core/result.h"

namespace rsslag::workload {

core::Result<std::string> read_text(const std::string &path);
core::Status write_text(const std::string &path, std::string_view text);

/// The number at the start of a file like /proc/sys/vm/nr_hugepages.
core::Result<std::int64_t> read_number(const std::string &path);

/// The number behind `label` at the start of a line: labelled_kb(meminfo, "MemAvailable:").
std::optional<std::int64_t> labelled_kb(std::string_view text, std::string_view label);

/// The sum of one field ("AnonHugePages:") over the mappings of this process's smaps that overlap `memory`.
core::Result<std::int64_t> smaps_kb(Memory memory, std::string_view label);

}  // namespace rsslag::workload
