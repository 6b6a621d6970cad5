// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/result.h"
#include "procfs/process.h"

namespace rsslag::system {

/// A thread for jobs that may wait long for a target's mmap_lock. The caller waits for the job. After `stop_waiting`
/// has returned true, it waits only for `patience` more, and then abandons the job.
class Walker {
  public:
    /// The longest wait, at the end of a trace, for the last listing of mappings.
    static constexpr std::chrono::milliseconds kPatience{1000};

    /// `stop_waiting` is called every 20 ms while a job runs.
    explicit Walker(std::function<bool()> stop_waiting, std::chrono::milliseconds patience = kPatience);
    ~Walker();
    Walker(const Walker &) = delete;
    Walker &operator=(const Walker &) = delete;

    /// Runs `job`; returns whether it has finished. An abandoned job may finish later, so it must own all data that it
    /// uses. Until then run() returns false and does not run further jobs.
    bool run(std::function<void()> job);

  private:
    struct State;
    std::function<bool()> stop_waiting_;
    std::chrono::milliseconds patience_;
    std::shared_ptr<State> state_;  ///< shared with the thread, which may outlive this object
};

/// Runs a job that takes the process's mmap_lock, if possible on the thread of `walker`, which may be null. The job
/// must own all that it uses. nullopt: it was abandoned.
template <class Job, class Result = std::invoke_result_t<Job, const procfs::Process &>>
std::optional<Result> locked(Walker *walker, const procfs::Process &process, Job job) {
    auto own = walker != nullptr ? process.duplicate() : core::Result<procfs::Process>(core::Error{});
    if (!own) return job(process);
    struct Shared {
        procfs::Process process;
        std::optional<Result> result;
    };
    auto shared = std::make_shared<Shared>(Shared{std::move(*own), std::nullopt});
    const bool done = walker->run([shared, job = std::move(job)] { shared->result.emplace(job(shared->process)); });
    return done ? std::move(shared->result) : std::nullopt;
}

}  // namespace rsslag::system
