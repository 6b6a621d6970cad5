// SPDX-License-Identifier: BSD-2-Clause
#include "system/privileges.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

namespace rsslag::system {
namespace {

std::string capabilities() {
    const std::unique_ptr<std::remove_pointer_t<cap_t>, decltype(&cap_free)> now(cap_get_proc(), cap_free);
    const std::unique_ptr<char, decltype(&cap_free)> text(cap_to_text(now.get(), nullptr), cap_free);
    return text.get();
}

/// Runs in a child process, as dropped capabilities cannot be regained.
bool holds_in_child(const std::function<bool()> &claim) {
    const pid_t pid = fork();
    if (pid == 0) _exit(claim() ? 0 : 1);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Privileges, AreGivenUpByTheOnlyThread) {
    EXPECT_TRUE(holds_in_child([] { return keep_only({}) && capabilities() == "="; }));
}

TEST(Privileges, AreNotGivenUpByOneThreadOfTwo) {
    EXPECT_TRUE(holds_in_child([] {
        std::promise<void> end;
        std::thread other([ended = end.get_future()] { ended.wait(); });
        const std::string before = capabilities();
        const core::Status dropped = keep_only({});
        const bool same = capabilities() == before;
        end.set_value();
        other.join();
        return !dropped && dropped.error().kind == core::Kind::Internal && same;
    }));
}

}  // namespace
}  // namespace rsslag::system
