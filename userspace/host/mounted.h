// SPDX-License-Identifier: BSD-2-Clause
// What a mount of rsslag's is known by: its source, the first field that mount(8) prints.
#pragma once

#include <optional>
#include <string>

#include "rsslag/core/result.h"

namespace rsslag::host {

inline constexpr const char *kSource = "rsslag";
inline constexpr const char *kSourceOfOwnDirectory = "rsslag-dir";  ///< the directory was made for it

/// The source of the bpffs that is mounted right here; nullopt: something else, or nothing.
std::optional<std::string> bpffs_at(int directory);

inline bool is_ours(const std::optional<std::string> &source) {
    return source == kSource || source == kSourceOfOwnDirectory;
}

/// `what` and the words for errno: Kind::Denied where a right is missing.
core::Error mount_error(const std::string &what, int err);

}  // namespace rsslag::host
