// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

#include "rsslag/core/fd.h"
#include "rsslag/core/result.h"

namespace rsslag::workload {

using core::Fd;

enum class Fill {
    Data,    ///< each page is written, so that it is in the page cache
    Sparse,  ///< a hole
};

/// An unlinked file that can be mapped shared and writable and whose pages the kernel counts as file pages, not as
/// shmem like those of tmpfs. Searches for a directory on a disk; if there is none, root uses a ramfs that is mounted
/// nowhere.
core::Result<Fd> writable_file(std::size_t bytes, Fill fill);

/// A file to map privately: writable_file(), else this program's executable. `bytes` is reduced to its size.
core::Result<Fd> readable_file(std::size_t &bytes);

}  // namespace rsslag::workload
