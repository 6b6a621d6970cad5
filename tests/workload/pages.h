// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/fd.h"
#include "core/result.h"
#include "workload/memory.h"

namespace rsslag::workload {

using core::Fd;

/// Half of the bytes, rounded down to whole pages.
std::size_t half_of(Memory memory);
/// Reads from each page.
void read_pages(Memory memory);

/// writable_file() whose pages are written, so that they are in the page cache.
core::Result<Fd> filled_file(std::size_t bytes);

core::Status write_text(const std::string &path, std::string_view text);

/// The sum of one field ("AnonHugePages:") over the mappings of this process's smaps that overlap `memory`.
core::Result<std::int64_t> smaps_kb(Memory memory, std::string_view label);

}  // namespace rsslag::workload
