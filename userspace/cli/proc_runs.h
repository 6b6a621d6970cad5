// SPDX-License-Identifier: BSD-2-Clause
// Commands without BPF, which read /proc alone. Each line of their output is marked as such.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "documents/proc.h"
#include "session/trace_options.h"
#include "system/signals.h"
#include "system/targets.h"

namespace rsslag::cli {

/// Whether a trace with these options can fall back to /proc after the error `why`. Recordings, --events and --assert
/// need records, which /proc does not have.
bool can_sample(const session::TraceOptions &options, const core::Error &why);

/// `live`: samples the targets at each interval until they have ended, the duration is over or a signal stops rsslag.
/// `dropped`: see ProcReader::open().
int sample_targets(const std::vector<system::Target> &targets, const session::TraceOptions &options,
                   const documents::TextStyle &style, system::StopSignals &stop, const core::Error &why, bool dropped);
/// Runs a command and samples it. Returns its status, or kDone after a stop signal or at the end of the duration.
int sample_command(const std::vector<std::string> &argv, const session::TraceOptions &options,
                   const documents::TextStyle &style, const core::Error &why);

struct ProcTopOptions {
    bool once = false, json = false;
    std::size_t rows = 0;  ///< 0: all
    documents::TopSort sort = documents::TopSort::Lag;
    std::chrono::milliseconds interval{1000};
    std::function<core::Status(const std::string &text)> write{};
};

/// `top`: prints tables until a signal stops rsslag, or one table with `once`.
int sample_all(const ProcTopOptions &options, const documents::TextStyle &style, system::StopSignals &stop,
               const core::Error &why);

}  // namespace rsslag::cli
