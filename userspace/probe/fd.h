// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <unistd.h>

namespace rsslag::probe {

/// An owned file descriptor, or none.
class Fd {
  public:
    explicit Fd(int fd) : fd_(fd) {}
    ~Fd() {
        if (fd_ >= 0) close(fd_);
    }
    Fd(const Fd &) = delete;
    Fd &operator=(const Fd &) = delete;

    int get() const { return fd_; }
    bool open() const { return fd_ >= 0; }

  private:
    int fd_;
};

}  // namespace rsslag::probe
