// SPDX-License-Identifier: BSD-2-Clause
#include "file_way.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/fd.h"
#include "file_text.h"

namespace rsslag::lib {
namespace {

using core::Error;
using core::Fd;
using core::Kind;

Error not_mounted(const std::string &path) {
    return {Kind::Unsupported, fmt::format("{} is not mounted", path), ENOENT, "run rsslag mount once as root"};
}

Error cannot_open(const std::string &path, int err) {
    if (err == ENOENT || err == ENOTDIR) return not_mounted(path);
    if (err == EACCES || err == EPERM)
        return {Kind::Denied, fmt::format("cannot open {}: {}", path, std::strerror(err)), err,
                "join the group that rsslag mount --group names"};
    return {Kind::Io, fmt::format("cannot open {}: {}", path, std::strerror(err)), err, ""};
}

core::Result<Fd> open_iterator(const std::string &path) {
    Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.open()) return cannot_open(path, errno);
    return fd;
}

/// Only a file in a bpffs can be the iterator: any other file of this name is not trusted.
core::Status in_bpffs(const std::string &path) {
    struct statfs about {};
    if (statfs(path.c_str(), &about) != 0) return cannot_open(path, errno);
    if (about.f_type != BPF_FS_MAGIC) return not_mounted(path);
    return core::success();
}

core::Result<std::string> read_to_end(int fd, const std::string &path) {
    constexpr std::size_t kChunk = 32768;  // the most that one read of an iterator returns
    std::string bytes;
    for (;;) {
        const std::size_t used = bytes.size();
        bytes.resize(used + kChunk);
        const ssize_t got = read(fd, bytes.data() + used, kChunk);
        bytes.resize(used + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got == 0) return bytes;
        // EAGAIN: the iterator has visited a million tasks without output (kernel/bpf/bpf_iter.c MAX_ITER_OBJECTS).
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return Error{Kind::Io, fmt::format("cannot read {}: {}", path, std::strerror(errno)), errno, ""};
    }
}

}  // namespace

core::Result<std::string> FileWay::text(const char *name) const {
    const std::string path = fmt::format("{}/{}", directory_, name);
    if (auto fit = in_bpffs(path); !fit) return fit.error();
    const auto fd = open_iterator(path);
    if (!fd) return fd.error();
    return read_to_end(fd->get(), path);
}

core::Status FileWay::usable() const {
    const std::string path = directory_ + "/self";
    if (auto fit = in_bpffs(path); !fit) return fit;
    const auto fd = open_iterator(path);
    return fd ? core::success() : core::Status(fd.error());
}

core::Result<Reading> FileWay::read(pid_t pid) const {
    const auto bytes = text("rss");
    if (!bytes) return bytes.error();
    auto all = parse_rss_file(*bytes, page_size_, pid);
    if (!all) return all.error();
    if (all->readings.empty()) return Error{Kind::Gone, fmt::format("no process {} with memory", pid), ESRCH, ""};
    return std::move(all->readings.front());
}

core::Result<Reading> FileWay::read_self() const {
    const auto bytes = text("self");
    if (!bytes) return bytes.error();
    return parse_self_file(*bytes, page_size_);
}

core::Result<Readings> FileWay::read_all() const {
    const auto bytes = text("rss");
    if (!bytes) return bytes.error();
    return parse_rss_file(*bytes, page_size_);
}

}  // namespace rsslag::lib
