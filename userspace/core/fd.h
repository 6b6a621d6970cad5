// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

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
    void reset() {
        if (fd_ >= 0) close(fd_);
        fd_ = -1;
    }

  private:
    int fd_ = -1;
};

/// Writes `bytes` to a blocking descriptor, again after EINTR and after a partial write, and removes from `bytes` what
/// was written. Returns 0 or the errno of write(2).
inline int write_all(int fd, std::string_view &bytes) {
    while (!bytes.empty()) {
        const ssize_t written = write(fd, bytes.data(), bytes.size());
        if (written >= 0)
            bytes.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

}  // namespace rsslag::core
