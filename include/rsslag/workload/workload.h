// SPDX-License-Identifier: BSD-2-Clause
// Workloads that make resident memory lag, or that put pages where counters and page tables might disagree.
// demo, quickstart, the tests and the benchmarks all use these, so that they speak of the same thing.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/core/result.h"

namespace rsslag::workload {

/// What the user may turn; a workload that has no use for one refuses it (Kind::BadInput).
struct Options {
    std::optional<int> threads = std::nullopt;
    std::optional<std::int64_t> kb = std::nullopt;  ///< by thread where there are threads, else in all
    /// Its build-up takes about so long, in even steps: a lag that rises slowly enough to be watched.
    std::optional<std::chrono::milliseconds> over = std::nullopt;
};

/// One thing that a workload knows of itself, as "key value": `child 4712`, `touched_kb 102400`.
struct Fact {
    std::string key;
    std::string value;
};

enum class Motion {
    Quiet,  ///< still after start() has returned: every task sleeps
    Busy,   ///< goes on changing its memory until it is killed
};

struct Workload {
    std::string_view name;     ///< as typed: "classic"
    std::string_view summary;  ///< one line for --list
    Motion motion = Motion::Quiet;
    /// Builds up the workload in the calling process, and returns when its memory is complete. Its threads, mappings
    /// and children stay until the process ends, also after an error. Children die with the calling thread
    /// (PR_SET_PDEATHSIG), so that thread must live as long as the process. The threads block all signals.
    /// Kind::Unsupported, with the remedy, if the machine lacks a requirement (huge pages, swap …).
    /// The caller prints the facts without touching new memory, since each page that it touches is cached, too.
    /// Common facts: "threads", "touched_kb", "mapping START-END" (as in /proc/PID/maps), "child PID", "writer PID".
    core::Result<std::vector<Fact>> (*start)(const Options &options) = nullptr;
};

/// All of them, in the order in which --list shows them.
std::span<const Workload> all();
/// nullptr where there is none of that name.
const Workload *find(std::string_view name);

/// Returns once the main thread of `pid` sleeps (state S) or has ended: a process that has just said that it is ready
/// still runs, and faults, on its way to where it waits. Kind::Internal when it never does.
core::Status await_rest(pid_t pid);

}  // namespace rsslag::workload
