// SPDX-License-Identifier: BSD-2-Clause
// `live` if BPF cannot be used: samples of /proc.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "core/result.h"
#include "documents/proc.h"
#include "session/trace_options.h"
#include "system/kept_processes.h"
#include "system/proc_reader.h"
#include "system/unreadable.h"

namespace rsslag::session {

/// Samples processes at each interval and prints lines, CSV or JSON.
class Sampler {
  public:
    Sampler(system::ProcReader reader, const TraceOptions &options, const documents::TextStyle &style)
        : reader_(std::move(reader)), options_(options), style_(style) {}

    /// Adds a process. Kind::Gone, Kind::Denied, Kind::Unsupported or Kind::Io if it cannot be read.
    core::Status add(pid_t pid);
    /// Warns once that a process could not be added, for `why`. For processes that the user did not name by PID.
    void not_added(pid_t pid, const core::Error &why) { unreadable_.note(pid, "", why); }
    /// Whether all processes have ended and no pattern waits for others.
    bool over() const { return pids_.empty() && !waits(); }

    /// Prints on stderr why these are samples, and on stdout the header.
    core::Status head() const;
    /// Samples until over(), until the duration has passed, or until `wait` returns false. `wait` waits at most for its
    /// argument.
    core::Status run(const std::function<bool(std::chrono::milliseconds)> &wait);

  private:
    std::string header() const;
    std::string text(const core::ProcDocument &document) const;
    std::string lines(const core::ProcDocument &document) const;
    core::Status sample();
    core::Status sample_until_end(const std::function<bool(std::chrono::milliseconds)> &wait);
    bool waits() const;
    void look_for_more();

    system::ProcReader reader_;
    const TraceOptions &options_;
    const documents::TextStyle &style_;
    std::vector<pid_t> pids_;
    system::KeptProcesses processes_;  ///< by PID
    system::Unreadable unreadable_;    ///< processes without samples
    std::uint64_t samples_ = 0;
};

}  // namespace rsslag::session
