// SPDX-License-Identifier: BSD-2-Clause
// Runs the built rsslag and holds its workloads, for tests.
#pragma once

#include <sys/types.h>

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

/// Runs it to its end. `in_child` runs between fork and exec.
Outcome run(const std::vector<std::string> &words, const std::function<void()> &in_child = {});

/// Runs `rsslag words…`; fails the test where stdout is not one JSON document a line.
std::vector<nlohmann::json> run_json(const std::vector<std::string> &words);

/// The one process of `rsslag snapshot --json PID`.
nlohmann::json snapshot(pid_t pid);

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
    /// False where the machine lacks what the workload needs; why() tells.
    bool ready() const { return ready_; }
    const std::string &why() const { return why_; }
    std::string fact(const std::string &key) const;
    /// Its own PID and those of its facts "child".
    std::vector<pid_t> pids() const;

  private:
    HeldProcess() = default;
    pid_t pid_ = 0;
    bool ready_ = false;
    std::string why_;
    std::multimap<std::string, std::string> facts_;
};

}  // namespace rsslag::live
