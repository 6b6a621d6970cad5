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

std::optional<procfs::Mount> mount_with(std::string_view mountinfo, std::uint64_t id) {
    const auto mounts = procfs::parse_mountinfo(mountinfo);
    if (!mounts) return std::nullopt;
    const auto found =
        std::find_if(mounts->begin(), mounts->end(), [id](const procfs::Mount &mount) { return mount.id == id; });
    return found != mounts->end() ? std::optional(*found) : std::nullopt;
}

std::optional<struct statx> status_of(int directory) {
    struct statx about {};
    const int failed = statx(directory, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_MNT_ID, &about);
    return failed == 0 ? std::optional(about) : std::nullopt;
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
    const auto mount = mount_with(mountinfo, mount_id);
    return mount && mount->type == "bpf" ? std::optional(mount->source) : std::nullopt;
}

std::optional<std::string> bpffs_at(int directory) {
    const auto about = status_of(directory);
    if (!about || (about->stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) return std::nullopt;
    return bpffs_source(mountinfo(), about->stx_mnt_id);
}

bool is_mounted_on(int mount, int directory) {
    const auto above = status_of(mount), below = status_of(directory);
    const auto found = above && below ? mount_with(mountinfo(), above->stx_mnt_id) : std::nullopt;
    return found && found->parent == below->stx_mnt_id;
}

core::Error mount_error(const std::string &what, int err) {
    const bool denied = err == EPERM || err == EACCES;
    return {denied ? Kind::Denied : Kind::Io, fmt::format("{}: {}", what, std::strerror(err)), err,
            denied ? "run rsslag as root" : ""};
}

core::Status unmount_files(const std::string &directory) {
    // "." cannot be removed, and after the umount it would still be the root of the mount.
    std::error_code unknown;
    const std::filesystem::path absolute = std::filesystem::canonical(directory, unknown);
    const std::string path = unknown ? directory : absolute.string();
    bool found = false, own = false;
    for (;;) {  // a mount may be above another one, for example after mount --bind
        const Fd root(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        const auto source = root.open() ? bpffs_at(root.get()) : std::nullopt;
        if (!is_ours(source)) break;
        if (auto unlinked = unlink_files(path, root.get()); !unlinked) return unlinked;
        // MNT_DETACH: an open file makes umount(2) fail with EBUSY. Readers can finish.
        if (umount2(path.c_str(), MNT_DETACH) != 0)
            return mount_error(fmt::format("cannot unmount {}", directory), errno);
        found = true;
        own = own || source == kSourceOfOwnDirectory;
    }
    if (!found) {
        return Error{Kind::BadInput, fmt::format("rsslag's files are not mounted at {}", directory), 0,
                     "run rsslag mount first"};
    }
    if (own && rmdir(path.c_str()) != 0 && errno != ENOENT)
        return mount_error(fmt::format("cannot remove {}", directory), errno);
    return core::success();
}

}  // namespace rsslag::system
