// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

#include "core/fd.h"
#include "core/result.h"

namespace rsslag::workload {

using core::Fd;

/// An unlinked sparse file that can be mapped shared and writable and whose pages the kernel counts as file pages, not
/// as shmem like those of tmpfs. Searches for a directory on a disk; if there is none, root uses a ramfs that is
/// mounted nowhere.
core::Result<Fd> writable_file(std::size_t bytes);

}  // namespace rsslag::workload
