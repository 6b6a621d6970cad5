// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace rsslag::host {

/// A thread for jobs that may wait long for a target's mmap_lock. The caller waits for the job, but once `stop_waiting`
/// has returned true only for `patience` more: then the thread is left behind.
class Walker {
  public:
    /// At the end of a trace, the listing of what each mapping holds is worth this wait.
    static constexpr std::chrono::milliseconds kPatience{1000};

    /// `stop_waiting` is called every 20 ms while a job runs.
    explicit Walker(std::function<bool()> stop_waiting, std::chrono::milliseconds patience = kPatience);
    ~Walker();
    Walker(const Walker &) = delete;
    Walker &operator=(const Walker &) = delete;

    /// Runs `job`; returns whether it has finished. A job left behind may finish later, so it must own all that it
    /// uses; until then further jobs are refused with false.
    bool run(std::function<void()> job);

  private:
    struct State;
    std::function<bool()> impatient_;
    std::chrono::milliseconds patience_;
    std::shared_ptr<State> state_;  ///< shared with the thread, which may outlive this object
};

}  // namespace rsslag::host
