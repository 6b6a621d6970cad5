// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rsslag::core {

/// Owns a file descriptor and closes it. A negative number, as from a failed open(2), counts as closed.
class Fd {
  public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    ~Fd() { reset(); }
    Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd &operator=(Fd &&other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    Fd(const Fd &) = delete;
    Fd &operator=(const Fd &) = delete;

    int get() const { return fd_; }
    bool open() const { return fd_ >= 0; }
    void reset() { close(); }
    /// Returns 0 or the errno of close(2). On some file systems, such as NFS, close(2) is the first call to report that
    /// what was written is lost (filp_flush() in fs/open.c). The descriptor is closed in any case.
    int close() { return fd_ >= 0 && ::close(std::exchange(fd_, -1)) != 0 ? errno : 0; }

  private:
    int fd_ = -1;
};

/// The result of the system call, which is made again after EINTR.
template <class Call>
auto uninterrupted(const Call &call) {
    auto result = call();
    while (result < 0 && errno == EINTR)
        result = call();
    return result;
}

/// `arguments` as execv(3) takes them. They must outlive the result.
inline std::vector<char *> pointers_to(const std::vector<std::string> &arguments) {
    std::vector<char *> pointers;
    pointers.reserve(arguments.size() + 1);
    for (const std::string &argument : arguments)
        pointers.push_back(const_cast<char *>(argument.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

/// Returns whether rsslag must stop, which ends a wait for a reader of the output. Null: such waits do not end early.
/// Any thread may call it.
inline bool (*must_stop)() = nullptr;

/// Writes `bytes`, again after EINTR and after a partial write, and removes from `bytes` what was written. Returns 0 or
/// the errno of write(2), which is EAGAIN if the descriptor does not block and takes no more now.
inline int write_all(int fd, std::string_view &bytes) {
    while (!bytes.empty()) {
        const ssize_t written = uninterrupted([&] { return write(fd, bytes.data(), bytes.size()); });
        if (written < 0) return errno;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

/// Returns 0 or the errno that a close(2) of the descriptor returns, which stays open if possible.
inline int error_at_close(int fd) {
    Fd copy(dup(fd));
    if (copy.open()) return copy.close();
    return close(fd) == 0 ? 0 : errno;
}

/// Reads from `offset` until `into` is full or the file ends. Returns the number of bytes, or minus the errno of
/// pread(2).
inline std::int64_t read_at(int fd, std::uint64_t offset, std::span<char> into) {
    std::size_t done = 0;
    while (done < into.size()) {
        const ssize_t got = uninterrupted(
            [&] { return pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done)); });
        if (got < 0) return -errno;
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    return static_cast<std::int64_t>(done);
}

}  // namespace rsslag::core
