// SPDX-License-Identifier: BSD-2-Clause
// Runs the built rsslag and holds its workloads, for tests.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rsslag::live {

/// What the command line of the tests says about this kernel; empty: not said.
struct Expected {
    std::string rsslag;  ///< path of the binary
    std::string scheme;  ///< "thread", "cpu"
    std::string status;  ///< what status and statm show: "flushed", "exact"
};
extern Expected expected;

struct Outcome {
    int status = -1;  ///< exit status, 128 + N for a signal
    std::string out;
    std::string err;
};

/// In a virtual machine whose CPUs are emulated: "rsslag.slow" on the kernel's command line.
bool emulated();

/// What takes longer than that to say anything hangs.
std::chrono::seconds patience();

/// Runs it to its end. `in_child` runs between fork and exec. One that hangs is killed, and the test fails.
Outcome run(const std::vector<std::string> &words, const std::function<void()> &in_child = {});

/// Runs `rsslag words…`; fails the test where stdout is not one JSON document a line.
std::vector<nlohmann::json> run_json(const std::vector<std::string> &words);

/// The one process of `rsslag snapshot --json PID`.
nlohmann::json snapshot(pid_t pid);

/// The same of one that holds still. Where it moved all the same it is read once or twice more: the kernel takes pages
/// away from whom it wants at any time.
nlohmann::json snapshot_at_rest(pid_t pid);

/// A program that runs beside the test, killed at the end of the scope. Its stdout is JSON, a document a line; its
/// stderr is that of the test.
class Running {
  public:
    explicit Running(const std::vector<std::string> &words);
    ~Running();
    Running(const Running &) = delete;
    Running &operator=(const Running &) = delete;

    pid_t pid() const { return pid_; }
    /// The next document; null at the end of them.
    nlohmann::json next();
    /// Returns once it stands still: all of its threads.
    void stop() const;
    void go_on() const;
    /// What is left to read once it has been sent this signal. Its exit status is 0, or the test fails.
    std::vector<nlohmann::json> finish(int signal);

  private:
    pid_t pid_ = 0;
    int out_ = -1;
    std::string text_;  ///< that has been read and not been given
};

/// A program that has said that it is ready, killed at the end of the scope.
class HeldProcess {
  public:
    /// `rsslag demo NAME --hold`, until "ready PID" and its facts came.
    static HeldProcess demo(const std::vector<std::string> &words);
    /// Any program that writes one line when it is ready.
    static HeldProcess program(const std::vector<std::string> &words);
    ~HeldProcess();
    HeldProcess(HeldProcess &&other) noexcept;
    HeldProcess &operator=(HeldProcess &&) = delete;

    pid_t pid() const { return pid_; }
    bool ready() const { return ready_; }
    /// The machine lacks what the workload needs, or this user may not have it; why() tells.
    bool refused() const;
    /// There is no such program.
    bool missing() const;
    const std::string &why() const { return why_; }
    std::string fact(const std::string &key) const;
    /// Its own PID and those of its facts "child".
    std::vector<pid_t> pids() const;

  private:
    HeldProcess() = default;
    pid_t pid_ = 0;
    bool ready_ = false;
    int status_ = 0;  ///< where it ended instead
    std::string why_;
    std::multimap<std::string, std::string> facts_;
};

}  // namespace rsslag::live

#define SKIP_WHERE_REFUSED(held)                        \
    if ((held).refused()) GTEST_SKIP() << (held).why(); \
    ASSERT_TRUE((held).ready()) << (held).why()
