// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace rsslag::procfs::test {

/// A forked process that runs `body(say)` and then pauses; `say(number)` reaches heard(). Killed and reaped at the end.
/// The process is forked from a test, so its body uses only plain system calls.
class Child {
  public:
    template <class Body>
    explicit Child(Body body) {
        if (pipe2(pipe_, O_CLOEXEC) != 0) {
            ADD_FAILURE() << "no pipe";
            return;
        }
        pid_ = fork();
        if (pid_ == 0) {
            // A test that is killed, or fails with an exception, leaves no process behind.
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            body([this](int number) { return write(pipe_[1], &number, sizeof number) == sizeof number; });
            for (;;)
                pause();
        }
        close(pipe_[1]);
    }
    ~Child() {
        end();
        close(pipe_[0]);
    }
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;

    pid_t pid() const { return pid_; }

    /// The next number that the body sends; -1 after its end.
    int heard() const {
        int number = -1;
        return read(pipe_[0], &number, sizeof number) == sizeof number ? number : -1;
    }

    /// Kills the process and leaves a zombie.
    void kill_only() const { kill(pid_, SIGKILL); }
    /// Kills and reaps the process.
    void end() {
        if (reaped_ || pid_ <= 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        reaped_ = true;
    }
    /// Waits for its own end. Returns the exit status.
    int exit_status() {
        int status = 0;
        waitpid(pid_, &status, 0);
        reaped_ = true;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

  private:
    int pipe_[2] = {-1, -1};
    pid_t pid_ = -1;
    bool reaped_ = false;
};

/// The body of a child that only has to exist.
inline constexpr auto kIdle = [](auto say) { say(1); };

}  // namespace rsslag::procfs::test
