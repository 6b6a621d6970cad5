// SPDX-License-Identifier: BSD-2-Clause
// What live is where BPF cannot be used: samples of /proc.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/host/proc_reader.h"
#include "rsslag/session/trace_options.h"
#include "rsslag/view/proc.h"

namespace rsslag::session {

/// Samples of some processes, one after another, as lines or JSON.
class Sampler {
  public:
    Sampler(host::ProcReader reader, const TraceOptions &options, const view::TextStyle &style)
        : reader_(std::move(reader)), options_(options), style_(style) {}

    /// Kind::Gone, Kind::Denied: it cannot be read.
    core::Status add(pid_t pid);
    /// None is left, and none is waited for.
    bool over() const { return processes_.empty() && !waits(); }

    /// Why these are samples, on stderr, and what the columns are.
    core::Status head() const;
    /// At each interval, until all have ended, the time is over or `wait`, which waits so long at most, says no.
    core::Status run(const std::function<bool(std::chrono::milliseconds)> &wait);

  private:
    std::string header() const;
    std::string text(const core::ProcDocument &document) const;
    std::string lines(const core::ProcDocument &document) const;
    core::Status sample();
    bool waits() const;
    void look_for_more();

    host::ProcReader reader_;
    const TraceOptions &options_;
    const view::TextStyle &style_;
    std::vector<procfs::Process> processes_;
};

}  // namespace rsslag::session
