// SPDX-License-Identifier: BSD-2-Clause
#include "io.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>

#include "text.h"

namespace rsslag::procfs {

namespace {

struct CloseDir {
    void operator()(DIR *dir) const { closedir(dir); }
};

}  // namespace

Try<Fd> open_at(int dir, const char *path, int flags) {
    const int fd = core::uninterrupted([&] { return openat(dir, path, flags | O_CLOEXEC); });
    if (fd < 0) return Errno{errno};
    return Fd(fd);
}

Try<std::string> read_to_end(int fd) {
    // The kernel returns most of these files page by page, however large the buffer is.
    std::array<char, 64 * 1024> buffer;
    std::string bytes;
    for (;;) {
        const ssize_t got = core::uninterrupted([&] { return read(fd, buffer.data(), buffer.size()); });
        if (got < 0) return Errno{errno};
        if (got == 0) return bytes;
        bytes.append(buffer.data(), static_cast<std::size_t>(got));
    }
}

Try<std::string> link_target(int dir, const char *path) {
    // The kernel refuses longer targets with ENAMETOOLONG.
    std::array<char, PATH_MAX + 1> target;
    ssize_t length = readlinkat(dir, path, target.data(), target.size());
    if (length < 0) return Errno{errno};
    return std::string(target.data(), static_cast<std::size_t>(length));
}

std::optional<pid_t> as_pid(std::string_view name) {
    pid_t pid = 0;
    if (read_number(name, pid) != ParseError::None || pid == 0) return std::nullopt;
    return pid;
}

Try<std::vector<pid_t>> numbers_in(int dir, const char *path) {
    auto opened = open_at(dir, path, O_RDONLY | O_DIRECTORY);
    if (const auto *error = std::get_if<Errno>(&opened)) return *error;
    // closedir() closes the descriptor of the stream, so the stream gets a duplicate.
    int own = fcntl(std::get<Fd>(opened).get(), F_DUPFD_CLOEXEC, 0);
    if (own < 0) return Errno{errno};
    std::unique_ptr<DIR, CloseDir> stream(fdopendir(own));
    if (!stream) {
        int error = errno;
        close(own);
        return Errno{error};
    }
    std::vector<pid_t> numbers;
    for (;;) {
        errno = 0;
        const dirent *entry = readdir(stream.get());
        if (entry == nullptr) break;
        if (auto pid = as_pid(entry->d_name)) numbers.push_back(*pid);
    }
    if (errno != 0) return Errno{errno};
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

}  // namespace rsslag::procfs
