// SPDX-License-Identifier: BSD-2-Clause
// Exact RSS as files that any user may read, without a daemon: a bpffs with pinned iterators.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace rsslag::system {

struct MountOptions {
    std::string directory;
    mode_t mode = 0444;  ///< of the files
    gid_t group = 0;
};

/// Mounts the files at an empty directory, which is created if it does not exist. The mount is complete before it
/// becomes visible, even if this process is killed. Kind::BadInput if the path is not an empty directory or rsslag's
/// files are mounted there; Kind::Denied, Kind::Unsupported or Kind::Io if the kernel refuses.
core::Status mount_files(const MountOptions &options);

/// Unlinks the files and detaches the mount, even while files are open. The kernel frees the programs of the files when
/// the last reader closes. Removes the directory if mount_files() created it. Kind::BadInput if rsslag's files are not
/// mounted there.
core::Status unmount_files(const std::string &directory);

/// The source of the bpffs with this mount id in the text of /proc/self/mountinfo; nullopt: no such mount, or not a
/// bpffs. Pure.
std::optional<std::string> bpffs_source(std::string_view mountinfo, std::uint64_t mount_id);

}  // namespace rsslag::system
