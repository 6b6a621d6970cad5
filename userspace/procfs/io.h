// SPDX-License-Identifier: BSD-2-Clause
// System calls of this room. Failures here are bare errnos: what one means depends on whose file it was.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rsslag/procfs/process.h"

namespace rsslag::procfs {

/// A positive errno, of the call that failed.
struct Errno {
    int value = 0;
};

template <class T>
using Try = std::variant<T, Errno>;

/// Opens for reading, below `dir`; never leaks into a child.
Try<Fd> open_at(int dir, const char *path, int flags);

/// From where the descriptor stands to its end.
Try<std::string> read_to_end(int fd);

/// Where a symbolic link points.
Try<std::string> link_target(int dir, const char *path);

/// The number that `name` is, all of it; nothing for ".", "self" and the like.
std::optional<pid_t> as_pid(std::string_view name);

/// The entries of a directory that are numbers, ascending.
Try<std::vector<pid_t>> numbers_in(int dir, const char *path);

}  // namespace rsslag::procfs
