// SPDX-License-Identifier: BSD-2-Clause
// A mount of rsslag is identified by its source, the first field that mount(8) prints.
#pragma once

#include <optional>
#include <string>

#include "core/result.h"

namespace rsslag::system {

inline constexpr const char *kSource = "rsslag";
inline constexpr const char *kSourceOfOwnDirectory = "rsslag-dir";  ///< rsslag has created the directory

/// The source of the bpffs whose root is `directory`; nullopt if `directory` is not the root of a mounted bpffs.
std::optional<std::string> bpffs_at(int directory);

/// Whether the mount with the root `mount` is mounted on a directory of the mount that contains `directory`, and not
/// stacked on another one. nullopt: it is not mounted any more, or that cannot be read.
std::optional<bool> is_mounted_on(int mount, int directory);

/// Detaches the bpffs with this root, even while files are open, and all mounts that are stacked on it: umount(2)
/// follows them, even from the link of a descriptor. Never detaches a mount below it. Success if another process has
/// detached it. `path` is for the error.
core::Status detach(int root, const std::string &path);

inline bool is_ours(const std::optional<std::string> &source) {
    return source == kSource || source == kSourceOfOwnDirectory;
}

/// "WHAT: text of errno". Kind::Denied for EPERM and EACCES, else Kind::Io.
core::Error mount_error(const std::string &what, int err);

}  // namespace rsslag::system
