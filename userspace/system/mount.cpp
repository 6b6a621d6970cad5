// SPDX-License-Identifier: BSD-2-Clause
#include "system/mount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/fd.h"
#include "mounted.h"
#include "probe/denial.h"
#include "probe/mounted.h"
#include "probe/traits.h"
#include "system/machine.h"

namespace rsslag::system {
namespace {

using core::Error;
using core::Fd;
using core::Kind;

/// The directory to mount on, created if it does not exist. The destructor removes a created one unless keep() was
/// called.
class MountPoint {
  public:
    explicit MountPoint(std::string path) : path_(std::move(path)), made_(mkdir(path_.c_str(), 0755) == 0) {
        if (made_ || errno == EEXIST) root_ = Fd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        err_ = root_.open() ? 0 : errno;
    }
    ~MountPoint() {
        if (made_) rmdir(path_.c_str());
    }
    MountPoint(const MountPoint &) = delete;
    MountPoint &operator=(const MountPoint &) = delete;

    void keep() { made_ = false; }
    bool made() const { return made_; }
    int root() const { return root_.get(); }
    const std::string &path() const { return path_; }
    /// Whether rsslag's files are mounted here now.
    bool has_files() const {
        const Fd now(open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        return now.open() && is_ours(bpffs_at(now.get()));
    }
    Error already_mounted() const {
        return {Kind::BadInput, fmt::format("cannot mount at {}: the files are already mounted", path_), 0,
                fmt::format("run rsslag umount {} first", path_)};
    }
    /// Whether it is an empty directory: a mount would hide its contents.
    core::Status check() const;

  private:
    std::string path_;
    bool made_;
    int err_ = 0;
    Fd root_;
};

core::Status MountPoint::check() const {
    const bool misnamed = err_ == ENOENT || err_ == ENOTDIR || err_ == ELOOP || err_ == ENAMETOOLONG;
    if (err_ != 0 && !misnamed) return mount_error("cannot mount at " + path_, err_);
    if (misnamed) {
        return Error{Kind::BadInput, fmt::format("cannot mount at {}: {}", path_, std::strerror(err_)), err_,
                     "name an empty directory, or one that can be created"};
    }
    if (is_ours(bpffs_at(root()))) return already_mounted();
    std::error_code unreadable;
    if (!std::filesystem::is_empty(path_, unreadable) || unreadable)
        return Error{Kind::BadInput, fmt::format("cannot mount at {}: not empty", path_), ENOTEMPTY,
                     "name an empty directory, or a new one"};
    return core::success();
}

/// Creates a bpffs that is not mounted anywhere yet, so that it becomes visible only once it is complete. Closing the
/// descriptor before that destroys it.
core::Result<Fd> make_bpffs(const char *source) {
    const Fd context(fsopen("bpf", FSOPEN_CLOEXEC));
    if (!context.open() && errno == ENODEV)
        return Error{Kind::Unsupported, "this kernel has no bpf file system", ENODEV,
                     "boot a kernel built with CONFIG_BPF_SYSCALL=y"};
    if (!context.open()) return mount_error("cannot create a bpf file system", errno);
    const auto set = [&context](unsigned command, const char *key, const char *value) {
        return fsconfig(context.get(), command, key, value, 0) == 0;
    };
    if (!set(FSCONFIG_SET_STRING, "source", source) || !set(FSCONFIG_CMD_CREATE, nullptr, nullptr))
        return mount_error("cannot create a bpf file system", errno);
    Fd root(fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
    if (!root.open()) return mount_error("cannot mount a bpf file system", errno);
    return root;
}

core::Status move_to(const Fd &mount, const MountPoint &point) {
    if (move_mount(mount.get(), "", point.root(), "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
        return mount_error("cannot mount the files", errno);
    // Another process may have mounted its files here since the check. Then this mount is stacked on that one. Or that
    // process has found both and removed this one.
    if (is_mounted_on(mount.get(), point.root()).value_or(!point.has_files())) return core::success();
    if (auto detached = detach(mount.get(), point.path()); !detached) return detached;
    return point.already_mounted();
}

}  // namespace

core::Status mount_files(const MountOptions &options) {
    const auto traits = probe::running_kernel_traits();
    if (!traits) return traits.error();
    MountPoint point(options.directory);
    if (auto fit = point.check(); !fit) return fit;
    const auto mount = make_bpffs(point.made() ? kSourceOfOwnDirectory : kSource);
    if (!mount) return mount.error();
    const probe::Readers readers{options.mode, options.group};
    if (auto pinned = probe::pin_files(*traits, this_host().machine, mount->get(), readers); !pinned) return pinned;
    if (auto moved = move_to(*mount, point); !moved) return moved;
    point.keep();
    return core::success();
}

}  // namespace rsslag::system
