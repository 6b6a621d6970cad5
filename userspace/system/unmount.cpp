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

std::string path_of(int directory) {
    return fmt::format("/proc/self/fd/{}", directory);
}

bool contains(int directory, std::string_view name) {
    std::error_code unreadable;
    const std::filesystem::directory_iterator entries(path_of(directory), unreadable);
    return std::any_of(begin(entries), end(entries),
                       [name](const auto &entry) { return entry.path().filename() == name; });
}

/// Unlinks the files that exist. Some may be missing: an earlier call was interrupted, or another process unlinks them
/// at the same time. Lists the directory to find them, as bpffs returns EPERM for a name with a dot that does not exist
/// (kernel/bpf/inode.c bpf_lookup).
core::Status unlink_files(int directory) {
    for (const char *name : probe::kMountedFiles) {
        if (!contains(directory, name) || unlinkat(directory, name, 0) == 0) continue;
        const int err = errno;
        if (contains(directory, name)) return mount_error(fmt::format("cannot unlink {}", name), err);
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

std::optional<bool> is_mounted_on(int mount, int directory) {
    const auto above = status_of(mount), below = status_of(directory);
    const auto found = above && below ? mount_with(mountinfo(), above->stx_mnt_id) : std::nullopt;
    return found ? std::optional(found->parent == below->stx_mnt_id) : std::nullopt;
}

core::Status detach(int root, const std::string &path) {
    while (bpffs_at(root)) {
        if (umount2(path_of(root).c_str(), MNT_DETACH) == 0) continue;
        const int err = errno;
        if (bpffs_at(root)) return mount_error(fmt::format("cannot unmount {}", path), err);
    }
    return core::success();
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
    for (;;) {  // mounts may be stacked, for example after mount --bind
        const Fd root(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        const auto source = root.open() ? bpffs_at(root.get()) : std::nullopt;
        if (!is_ours(source)) break;
        if (auto unlinked = unlink_files(root.get()); !unlinked) return unlinked;
        if (auto detached = detach(root.get(), directory); !detached) return detached;
        found = true;
        own = own || source == kSourceOfOwnDirectory;
    }
    if (!found) {
        return Error{Kind::BadInput, fmt::format("rsslag's files are not mounted at {}", directory), 0,
                     "give the directory that rsslag mount was given"};
    }
    if (own && rmdir(path.c_str()) != 0 && errno != ENOENT)
        return mount_error(fmt::format("cannot remove {}", directory), errno);
    return core::success();
}

}  // namespace rsslag::system
