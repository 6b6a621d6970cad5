// SPDX-License-Identifier: BSD-2-Clause
// Threads and processes with known memory. In most the counters lag behind the resident pages. These are the workloads
// of demo and the quickstart; tests and benchmarks use them and those of tests/workload.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace rsslag::workload {

/// Options of the command line; nullopt: the workload's default. start() returns Kind::BadInput for an option that the
/// workload does not support or whose value is out of range.
struct Options {
    std::optional<int> threads = std::nullopt;
    std::optional<std::int64_t> kb = std::nullopt;  ///< of each thread, or of the process if it starts no threads
    /// Duration of the build-up, which takes even steps, so that a user can watch the lag rise.
    std::optional<std::chrono::milliseconds> over = std::nullopt;
};

/// A property of a started workload, printed as "key value": `child 4712`, `touched_kb 102400`.
struct Fact {
    std::string key;
    std::string value;
};

/// Whether a workload changes its memory after its start.
enum class Motion {
    Quiet,  ///< every task sleeps when start() has returned
    Busy,   ///< changes its memory until it is killed
};

struct Workload {
    std::string_view name;     ///< as in the arguments: "classic"
    std::string_view summary;  ///< one line for --list
    Motion motion = Motion::Quiet;
    /// Builds up the workload in the calling process and returns when its memory is complete. Its threads, mappings and
    /// children exist until the process ends, even after an error. The kernel kills the children when the calling
    /// thread ends (PR_SET_PDEATHSIG), so that thread must live as long as the process. The threads block all signals.
    /// Common facts: "threads", "touched_kb", "mapping START-END" (as in /proc/PID/maps), "child PID", "writer PID".
    /// The caller must print them without touching new pages, because these would be cached too.
    /// Kind::Unsupported, with a remedy, if the machine lacks a requirement (huge pages, swap, free memory);
    /// Kind::Denied if a privilege is missing or a limit is too low; Kind::Io or Kind::Internal if another system call
    /// fails.
    core::Result<std::vector<Fact>> (*start)(const Options &options) = nullptr;
};

/// The workloads of demo, in the order in which --list shows them.
std::span<const Workload> all();
/// The workload with this name; nullptr if there is none.
const Workload *find(std::string_view name, std::span<const Workload> among = all());

/// Returns when the main thread of `pid` sleeps (state S) or has ended. A process that has printed its facts still
/// runs, and may fault, until it blocks. Kind::Internal if it does not sleep within two minutes.
core::Status await_rest(pid_t pid);

}  // namespace rsslag::workload
