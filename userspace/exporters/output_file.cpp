// SPDX-License-Identifier: BSD-2-Clause
#include "exporters/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/text.h"

namespace rsslag::exporters {
namespace {

using core::Error;
using core::Kind;
using core::Status;

Error bad(const std::string &path, const char *what, const char *remedy) {
    return {Kind::BadInput, fmt::format("{} {}", core::printable(path), what), 0, remedy};
}

}  // namespace

std::string resolved(const std::string &path) {
    std::array<char, PATH_MAX> real{};
    return realpath(path.c_str(), real.data()) != nullptr ? real.data() : path;
}

Error OutputFile::failed(const char *what) const {
    return {Kind::Io, fmt::format("cannot {} {}: {}", what, core::printable(path_), std::strerror(errno)), errno, ""};
}

core::Result<OutputFile> OutputFile::open(const std::string &path, bool force, const std::vector<std::string> &inputs) {
    if (path.empty()) return bad("''", "is not a file name", "");
    struct stat there {};
    const bool exists = stat(path.c_str(), &there) == 0;
    if (exists && S_ISDIR(there.st_mode)) return bad(path, "is a directory", "name a file in it");
    if (exists && !S_ISREG(there.st_mode)) {
        OutputFile file(path, force);
        file.fd_ = core::Fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
        if (!file.fd_.open()) return file.failed("open");
        return file;
    }
    const auto is_there = [&there](const std::string &input) {
        struct stat in {};
        return stat(input.c_str(), &in) == 0 && in.st_dev == there.st_dev && in.st_ino == there.st_ino;
    };
    if (exists && std::any_of(inputs.begin(), inputs.end(), is_there))
        return bad(path, "is the recording itself", "name another file");
    if (exists && !force) return bad(path, "already exists", "name another file or use --force");
    OutputFile file(exists ? resolved(path) : path, force);
    std::string growing = file.path_ + ".XXXXXX";
    file.fd_ = core::Fd(mkostemp(growing.data(), O_CLOEXEC));
    if (!file.fd_.open()) return file.failed("create");
    file.growing_ = std::move(growing);
    return file;
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : path_(std::move(other.path_)),
      growing_(std::exchange(other.growing_, {})),
      force_(other.force_),
      fd_(std::move(other.fd_)) {}

OutputFile::~OutputFile() {
    if (!growing_.empty()) unlink(growing_.c_str());
}

Status OutputFile::write(std::string_view text) {
    return core::write_all(fd_.get(), text) == 0 ? core::success() : failed("write");
}

Status OutputFile::share() {
    if (growing_.empty()) return core::success();
    constexpr mode_t kReadWrite = 0666;
    const mode_t masked = umask(0);
    umask(masked);
    return fchmod(fd_.get(), kReadWrite & ~masked) == 0 ? core::success() : failed("set the mode of");
}

/// Without --force a file that appeared at the path in the meantime is not replaced.
Status OutputFile::put_in_place() {
    const char *const from = growing_.c_str();
    const char *const to = path_.c_str();
    if (force_) return rename(from, to) == 0 ? core::success() : failed("write");
    if (link(from, to) == 0) return unlink(from) == 0 ? core::success() : failed("write");
    if (errno == EEXIST) return bad(path_, "already exists", "name another file or use --force");
    // The file system has no hard links.
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 ? core::success() : failed("write");
}

Status OutputFile::commit() {
    // Some file systems report a full disk only here.
    if (!growing_.empty() && fsync(fd_.get()) != 0) return failed("write");
    errno = fd_.close();
    if (errno != 0) return failed("write");
    if (growing_.empty()) return core::success();
    Status placed = put_in_place();
    if (placed) growing_.clear();
    return placed;
}

}  // namespace rsslag::exporters
