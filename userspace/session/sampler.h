// SPDX-License-Identifier: BSD-2-Clause
// `live` if BPF cannot be used: samples of /proc.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "core/result.h"
#include "documents/proc.h"
#include "session/trace_options.h"
#include "system/proc_reader.h"

namespace rsslag::session {

/// Samples processes at each interval and prints lines, CSV or JSON.
class Sampler {
  public:
    Sampler(system::ProcReader reader, const TraceOptions &options, const documents::TextStyle &style)
        : reader_(std::move(reader)), options_(options), style_(style) {}

    /// Adds a process. Kind::Gone, Kind::Denied or Kind::Unsupported if it cannot be read.
    core::Status add(pid_t pid);
    /// Whether all processes have ended and no pattern waits for others.
    bool over() const { return processes_.empty() && !waits(); }

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
    bool waits() const;
    void look_for_more();

    system::ProcReader reader_;
    const TraceOptions &options_;
    const documents::TextStyle &style_;
    std::vector<procfs::Process> processes_;
};

}  // namespace rsslag::session
