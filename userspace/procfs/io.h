// SPDX-License-Identifier: BSD-2-Clause
// System calls of this module. They return an errno instead of an Error, since its meaning depends on the file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "procfs/process.h"

namespace rsslag::procfs {

/// A positive errno of a failed call.
struct Errno {
    int value = 0;
};

template <class T>
using Try = std::variant<T, Errno>;

/// Opens `path` relative to `dir`, with O_CLOEXEC in addition to `flags`.
Try<Fd> open_at(int dir, const char *path, int flags);

/// Reads from the current offset to the end of the file.
Try<std::string> read_to_end(int fd);

/// The target of a symbolic link.
Try<std::string> link_target(int dir, const char *path);

/// The PID if all of `name` is a PID; nullopt for ".", "self" and so on.
std::optional<pid_t> as_pid(std::string_view name);

/// The entries of a directory that are numbers, ascending.
Try<std::vector<pid_t>> numbers_in(int dir, const char *path);

}  // namespace rsslag::procfs
