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

/// Whether the mount with the root `mount` is on a directory of the mount that contains `directory`, and not on a mount
/// above that.
bool is_mounted_on(int mount, int directory);

inline bool is_ours(const std::optional<std::string> &source) {
    return source == kSource || source == kSourceOfOwnDirectory;
}

/// "WHAT: text of errno". Kind::Denied for EPERM and EACCES, else Kind::Io.
core::Error mount_error(const std::string &what, int err);

}  // namespace rsslag::system
