// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include "core/fd.h"
#include "mounted.h"
#include "probe/mounted.h"
#include "procfs/system.h"
#include "system/mount.h"

namespace rsslag::system {
namespace {

using core::Error;
using core::Fd;
using core::Kind;

std::string mountinfo() {
    std::ifstream file("/proc/self/mountinfo");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Unlinks the files that exist: an earlier call may have been interrupted after it unlinked some. Lists the directory
/// to find them, as bpffs returns EPERM for a name with a dot that does not exist (kernel/bpf/inode.c bpf_lookup).
core::Status unlink_files(const std::string &path, int directory) {
    std::error_code unreadable;
    std::set<std::string> left;
    for (const auto &entry : std::filesystem::directory_iterator(path, unreadable))
        left.insert(entry.path().filename());
    for (const char *name : probe::kMountedFiles) {
        if (left.count(name) != 0 && unlinkat(directory, name, 0) != 0)
            return mount_error(fmt::format("cannot unlink {}", name), errno);
    }
    return core::success();
}

}  // namespace

std::optional<std::string> bpffs_source(std::string_view mountinfo, std::uint64_t mount_id) {
    const auto mounts = procfs::parse_mountinfo(mountinfo);
    if (!mounts) return std::nullopt;
    const auto found = std::find_if(mounts->begin(), mounts->end(),
                                    [mount_id](const procfs::Mount &mount) { return mount.id == mount_id; });
    return found != mounts->end() && found->type == "bpf" ? std::optional(found->source) : std::nullopt;
}

std::optional<std::string> bpffs_at(int directory) {
    struct statx about {};
    const int failed = statx(directory, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_MNT_ID, &about);
    if (failed != 0 || (about.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) return std::nullopt;
    return bpffs_source(mountinfo(), about.stx_mnt_id);
}

core::Error mount_error(const std::string &what, int err) {
    const bool denied = err == EPERM || err == EACCES;
    return {denied ? Kind::Denied : Kind::Io, fmt::format("{}: {}", what, std::strerror(err)), err,
            denied ? "run rsslag as root" : ""};
}

core::Status unmount_files(const std::string &directory) {
    const Fd root(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto source = root.open() ? bpffs_at(root.get()) : std::nullopt;
    if (!is_ours(source)) {
        return Error{Kind::BadInput, fmt::format("rsslag's files are not mounted at {}", directory), 0,
                     "run rsslag mount first"};
    }
    if (auto unlinked = unlink_files(directory, root.get()); !unlinked) return unlinked;
    // MNT_DETACH: an open file makes umount(2) fail with EBUSY. Readers can finish.
    if (umount2(directory.c_str(), MNT_DETACH) != 0)
        return mount_error(fmt::format("cannot unmount {}", directory), errno);
    if (source == kSourceOfOwnDirectory && rmdir(directory.c_str()) != 0 && errno != ENOENT)
        return mount_error(fmt::format("cannot remove {}", directory), errno);
    return core::success();
}

}  // namespace rsslag::system
