// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <span>

#include "core/result.h"
#include "workload/workload.h"

namespace rsslag::workload {

/// Mapped memory. It stays mapped until the process ends.
using Memory = std::span<std::byte>;

std::size_t page_size();

/// The arguments of mmap that differ between mappings.
struct Mapping {
    int prot = 0;
    int flags = 0;
    int fd = -1;
};

/// Maps memory between two inaccessible pages, so that the kernel never merges it with a neighbour and smaps lists it
/// as a separate mapping. `bytes` is a whole number of pages.
core::Result<Memory> map_guarded(std::size_t bytes, Mapping how);

/// Maps readable and writable memory that is faulted in as base pages, whatever the machine's setting for huge pages.
/// `sharing`: MAP_PRIVATE or MAP_SHARED.
core::Result<Memory> map_anonymous(std::size_t bytes, int sharing);
core::Result<Memory> map_private(std::size_t bytes);

/// Excludes huge pages (MADV_NOHUGEPAGE). Also succeeds on a kernel built without them, where madvise(2) returns
/// EINVAL.
core::Status forbid_huge_pages(Memory memory);

/// Writes to each page.
void touch(Memory memory);

/// The range of addresses as in /proc/PID/maps: "mapping 7f0000000000-7f0000100000".
Fact mapping_fact(Memory memory);

}  // namespace rsslag::workload
