// SPDX-License-Identifier: BSD-2-Clause
#include "files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace rsslag::recording {
namespace {

using core::Error;
using core::Kind;

/// Makes this thread create, rename and delete files as their owner, without any capability. That requires that the
/// owner is a saved id of the process; else nothing changes.
class AsOwner {
  public:
    explicit AsOwner(const Writer::Options &options) : on_(options.as_owner && options.owner) {
        if (!on_) return;
        dumpable_ = prctl(PR_GET_DUMPABLE);
        setfsgid(options.owner->gid);
        setfsuid(options.owner->uid);
    }
    ~AsOwner() {
        if (!on_) return;
        setfsuid(geteuid());
        setfsgid(getegid());
        // Changing ids makes the process and its children non-dumpable.
        if (dumpable_ == 1) prctl(PR_SET_DUMPABLE, 1);
    }
    AsOwner(const AsOwner &) = delete;
    AsOwner &operator=(const AsOwner &) = delete;

  private:
    bool on_;
    int dumpable_ = 0;
};

Error cannot_make(const std::string &path, int err) {
    return {Kind::BadInput, fmt::format("cannot create {}: {}", path, std::strerror(err)), err,
            err == EMFILE || err == ENFILE ? "" : "name a file in an existing, writable directory"};
}

/// Whether the name is free, or FILE may be replaced.
core::Status may_make(const std::string &path, bool force) {
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0) return core::success();
    if (S_ISDIR(status.st_mode)) return Error{Kind::BadInput, path + " is a directory", 0, "name a file in it"};
    if (!S_ISREG(status.st_mode)) return Error{Kind::BadInput, path + " is not a regular file", 0, "name another file"};
    if (!force) return Error{Kind::BadInput, path + " already exists", 0, "name another file or use --force"};
    return core::success();
}

bool is_segment_of(const std::string &file, const std::string &name) {
    constexpr std::size_t kDigits = 4;
    if (name.size() < file.size() + 1 + kDigits || !name.starts_with(file) || name[file.size()] != '.') return false;
    return name.find_first_not_of("0123456789", file.size() + 1) == std::string::npos;
}

/// An existing file with the name of a segment: found here, it does not stop the recording hours later.
std::optional<std::string> segment_there(const std::string &path) {
    const std::filesystem::path file(path);
    const auto directory = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    std::error_code err;
    std::filesystem::directory_iterator each(directory, err);
    for (; !err && each != std::filesystem::directory_iterator(); each.increment(err)) {
        const std::string name = each->path().filename().string();
        if (is_segment_of(file.filename().string(), name)) return (directory / name).string();
    }
    return std::nullopt;
}

int rename_to(const std::string &from, const std::string &to, bool force) {
    if (force) return rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL) return errno;
    // The file system does not support RENAME_NOREPLACE; most such file systems cannot link either.
    struct stat status {};
    if (lstat(to.c_str(), &status) == 0) return EEXIST;
    return rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

std::string segment_name(const std::string &path, std::uint64_t number) {
    return fmt::format("{}.{:04}", path, number);
}

core::Result<Files> Files::create(const std::string &path, const Writer::Options &options) {
    const AsOwner as_owner(options);
    if (const core::Status free = may_make(path, options.force); !free) return free.error();
    if (options.max_bytes && !options.force) {
        if (const auto there = segment_there(path))
            return Error{Kind::BadInput, *there + " already exists and has the name of a segment", 0,
                         "name another file or use --force"};
    }
    Files files(path, options);
    if (const int err = files.make(options.force); err != 0) return cannot_make(path, err);
    return files;
}

/// `replace`: creates a file with a temporary name. The first write() renames it, so that the old file stays if the
/// recording cannot begin.
int Files::make(bool replace) {
    std::string name = replace ? path_ + ".XXXXXX" : path_;
    fd_ = core::Fd(replace ? mkostemp(name.data(), O_CLOEXEC)
                           : ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd_.open()) return errno;
    struct stat status {};
    const bool made = (!options_.owner || fchown(fd_.get(), options_.owner->uid, options_.owner->gid) == 0) &&
                      fstat(fd_.get(), &status) == 0;
    if (!made) {
        const int err = errno;
        unlink(name.c_str());
        return err;
    }
    made_.device = status.st_dev;
    made_.inode = status.st_ino;
    if (replace) temporary_ = name;
    return 0;
}

void Files::make_room(std::uint64_t bytes) {
    if (!options_.max_bytes || kept() + bytes <= *options_.max_bytes) return;
    const AsOwner as_owner(options_);
    while (!older_.empty() && kept() + bytes > *options_.max_bytes) {
        const Made &oldest = older_.front();
        const std::string name = segment_name(path_, oldest.number);
        struct stat status {};
        if (lstat(name.c_str(), &status) == 0 && status.st_dev == oldest.device && status.st_ino == oldest.inode)
            unlink(name.c_str());
        kept_ -= oldest.bytes;
        older_.pop_front();
    }
}

/// Truncates the file to its previous size if the write fails, so that it stays readable.
int Files::write(std::string_view bytes) {
    make_room(bytes.size());
    std::string_view left = bytes;
    int err = core::write_all(fd_.get(), left);
    if (err == 0 && !temporary_.empty() && !held_) err = take_place();
    if (err != 0) {
        if (!temporary_.empty()) remove();
        [[maybe_unused]] const int cut = ftruncate(fd_.get(), static_cast<off_t>(written_));
        return err;
    }
    written_ += bytes.size();
    return 0;
}

int Files::keep() {
    held_ = false;
    return temporary_.empty() || written_ == 0 ? 0 : take_place();
}

int Files::take_place() {
    const AsOwner as_owner(options_);
    if (rename(temporary_.c_str(), path_.c_str()) != 0) return errno;
    temporary_.clear();
    return 0;
}

int Files::sync() const {
    return fdatasync(fd_.get()) == 0 ? 0 : errno;
}

int Files::end() {
    const int err = sync();
    const int at_close = fd_.close();
    return err != 0 ? err : at_close;
}

/// Leaves FILE alone if another process has moved, deleted or replaced it.
int Files::move_away() {
    struct stat status {};
    const bool there =
        lstat(path_.c_str(), &status) == 0 && status.st_dev == made_.device && status.st_ino == made_.inode;
    if (!there) return 0;
    if (const int err = rename_to(path_, segment_name(path_, made_.number), options_.force); err != 0) return err;
    made_.bytes = std::exchange(written_, 0);
    kept_ += made_.bytes;
    older_.push_back(made_);
    return 0;
}

int Files::next() {
    const AsOwner as_owner(options_);
    if (const int err = move_away(); err != 0) return err;
    written_ = 0;
    made_ = {made_.number + 1, 0, 0, 0};
    return make(false);
}

void Files::remove() const {
    const AsOwner as_owner(options_);
    unlink((temporary_.empty() ? path_ : temporary_).c_str());
}

}  // namespace rsslag::recording
