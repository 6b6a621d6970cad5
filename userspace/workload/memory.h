// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <span>

#include "rsslag/core/result.h"
#include "rsslag/workload/workload.h"

namespace rsslag::workload {

/// Mapped memory. It stays mapped until the process ends: that is what a workload is for.
using Memory = std::span<std::byte>;

std::size_t page_size();
/// Bytes of whole pages.
std::size_t half_of(Memory memory);

/// How one is mapped: the arguments of mmap that differ.
struct Mapping {
    int prot = 0;
    int flags = 0;
    int fd = -1;
};

/// Between two inaccessible pages, so that the kernel never merges it with a neighbour: a reader of smaps finds it as
/// a mapping of its own. `bytes` is a whole number of pages.
core::Result<Memory> map_guarded(std::size_t bytes, Mapping how);

/// Readable, writable, and touched in base pages whatever the machine's setting for huge pages.
core::Result<Memory> map_private(std::size_t bytes);
core::Result<Memory> map_shared(std::size_t bytes);

/// Says no to huge pages; a kernel built without them has none to say no to.
core::Status forbid_huge_pages(Memory memory);

/// One write, or one read, to each page.
void touch(Memory memory);
void read_pages(Memory memory);

/// Where it is, as /proc/PID/maps writes it: "mapping 7f0000000000-7f0000100000".
Fact mapping_fact(Memory memory);

}  // namespace rsslag::workload
