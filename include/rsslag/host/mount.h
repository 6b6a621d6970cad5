// SPDX-License-Identifier: BSD-2-Clause
// Exact RSS as files that anyone may read, without a daemon: a bpffs with pinned iterators.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rsslag/core/result.h"

namespace rsslag::host {

struct MountOptions {
    std::string directory;
    mode_t mode = 0444;  ///< of the files
    gid_t group = 0;
};

/// Mounts the files at an empty directory, which is made where there is none. All or nothing: a mount is complete
/// before it can be seen, however this process ends. Kind::BadInput where the directory is no such, holds something, or
/// is mounted already; Kind::Denied, Kind::Unsupported where the kernel refuses or cannot.
core::Status mount_files(const MountOptions &options);

/// Unlinks the files, so that their programs go with the last open reader, and takes the mount away, also from below
/// readers. The directory goes too if mount_files() made it. Kind::BadInput where nothing of rsslag's is mounted.
core::Status unmount_files(const std::string &directory);

/// The source of the bpffs that has this id in a /proc/self/mountinfo; nullopt: no such mount, or no bpffs. Pure.
std::optional<std::string> bpffs_source(std::string_view mountinfo, std::uint64_t mount_id);

}  // namespace rsslag::host
