// SPDX-License-Identifier: BSD-2-Clause
// Runs the built rsslag and its held workloads, for tests.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rsslag::live {

/// What the command line of the tests specifies about this kernel; empty: not specified.
struct Expected {
    std::string rsslag;  ///< path of the binary
    std::string scheme;  ///< "thread", "cpu"
    std::string status;  ///< what status and statm show: "flushed", "exact"
};
extern Expected expected;

/// The members in JSON, and their sum.
inline constexpr std::array<const char *, 5> kMembers{"file", "anon", "shmem", "swap", "rss"};

struct Outcome {
    int status = -1;  ///< exit status, 128 + N for a signal
    std::string out;
    std::string err;
};

/// Whether the CPUs are emulated: "rsslag.slow" is on the kernel's command line of such virtual machines.
bool emulated();

/// A program without output for longer than this hangs.
std::chrono::seconds patience();

/// Runs a program to its end. `in_child` runs between fork and exec. If it hangs, it is killed, and the test fails.
Outcome run(const std::vector<std::string> &words, const std::function<void()> &in_child = {});

/// Runs `rsslag words…`. Fails the test if stdout is not one JSON document per line.
std::vector<nlohmann::json> run_json(const std::vector<std::string> &words);

/// The one process of `rsslag snapshot --json PID`.
nlohmann::json snapshot(pid_t pid);

/// The same for a quiescent process. If it changed nevertheless, it is read once or twice more: the kernel may reclaim
/// pages of any process at any time.
nlohmann::json snapshot_at_rest(pid_t pid);

/// A program that runs next to the test, killed at the end of the scope. Its stdout is JSON, one document per line; its
/// stderr is that of the test.
class Running {
  public:
    explicit Running(const std::vector<std::string> &words);
    ~Running();
    Running(const Running &) = delete;
    Running &operator=(const Running &) = delete;

    pid_t pid() const { return pid_; }
    /// The next document; null after the last one.
    nlohmann::json next();
    /// Stops it. Returns after all of its threads have stopped.
    void stop() const;
    void go_on() const;
    /// Sends it this signal. Returns the remaining documents. The test fails if the exit status is not 0.
    std::vector<nlohmann::json> finish(int signal);

  private:
    pid_t pid_ = 0;
    int out_ = -1;
    std::string text_;  ///< read and not yet returned
};

/// A program that has printed that it is ready, killed at the end of the scope.
class HeldProcess {
  public:
    /// Starts `rsslag demo NAME --hold`, or `tests/workload/workload` next to rsslag if demo does not have this
    /// workload. Waits for "ready PID" and the facts.
    static HeldProcess workload(const std::vector<std::string> &words);
    /// Any program that writes one line when it is ready.
    static HeldProcess program(const std::vector<std::string> &words);
    ~HeldProcess();
    HeldProcess(HeldProcess &&other) noexcept;
    HeldProcess &operator=(HeldProcess &&) = delete;

    pid_t pid() const { return pid_; }
    bool ready() const { return ready_; }
    /// The machine lacks what the workload needs, or this user lacks the rights; why() returns the reason.
    bool refused() const;
    /// There is no such program.
    bool missing() const;
    const std::string &why() const { return why_; }
    std::string fact(const std::string &key) const;
    /// Its own PID and the PIDs of its facts "child".
    std::vector<pid_t> pids() const;

  private:
    HeldProcess() = default;
    pid_t pid_ = 0;
    bool ready_ = false;
    int status_ = 0;  ///< if it ended instead
    std::string why_;
    std::multimap<std::string, std::string> facts_;
};

}  // namespace rsslag::live

#define SKIP_WHERE_REFUSED(held)                        \
    if ((held).refused()) GTEST_SKIP() << (held).why(); \
    ASSERT_TRUE((held).ready()) << (held).why()
