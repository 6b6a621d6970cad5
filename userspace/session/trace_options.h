// SPDX-License-Identifier: BSD-2-Clause
// The options of a trace and its output, from the command line of live and record.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/assertion.h"
#include "core/result.h"
#include "core/samples.h"
#include "core/tick.h"
#include "system/targets.h"

namespace rsslag::session {

/// The form of the output. Progress: only a line about the recording on stderr. Silent: no output.
enum class Format : std::uint8_t { Screen, Lines, Csv, Jsonl, Progress, Silent };

struct TraceOptions {
    system::TargetArguments targets;
    bool follow = false;
    bool no_walk = false;
    bool no_names = false;  ///< do not trace changes of mappings
    bool no_wait = false;
    bool events = false;
    bool as_root = false;
    bool sampled = false;   ///< sample /proc if BPF cannot be used
    bool mouse = true;      ///< the screen takes clicks
    bool force = false;     ///< the recording may replace an existing file
    std::string recording;  ///< path; empty: no recording
    std::vector<std::string> command_line;
    std::string version;  ///< of rsslag, for the header of a recording
    std::string mode = "events";
    struct {
        std::string interval = "1s";
        std::string duration;
        std::string format;  ///< empty: the screen if possible, else lines
        std::string threads;
        std::string ring, memory;
        std::string sync = "5s";
        std::string max_size;
        std::string history = "10m";
        std::string keep;  ///< empty: a minute on the screen or with --save-when, else nothing
        std::string save_when;
        std::string stacks;  ///< pages to a sample; empty: no samples
        std::string stack_bytes = "2K";
        std::string unwind = "auto";
    } typed;  ///< the arguments as typed; the fields below contain the parsed values
    std::chrono::milliseconds interval{1000};
    std::optional<std::chrono::milliseconds> duration;
    Format format = Format::Lines;
    core::ThreadChoice threads;
    std::size_t ring_bytes = 0, memory_bytes = 0;  ///< 0: the default
    core::SampleOptions samples;                   ///< of --stacks and the options that need it
    std::chrono::milliseconds sync{5000};
    std::chrono::milliseconds history{};     ///< of the screen; 0: none
    std::chrono::milliseconds keep{};        ///< what is kept in memory, to be saved later; 0: nothing
    std::vector<core::Assertion> save_when;  ///< empty: only a key saves it
    std::uint64_t save_limit = 10;           ///< recordings that save_when may start
    std::optional<std::uint64_t> max_bytes;  ///< of a recording; nullopt: no limit
};

/// Parses "all", "changed", "top:N" or "none". Kind::BadInput otherwise. Pure.
core::Result<core::ThreadChoice> parse_threads(const std::string &argument);

/// Checks `options.typed` and sets the other fields from it, without a query of the kernel. Kind::BadInput if an option
/// is invalid.
core::Status parse(TraceOptions &options);

}  // namespace rsslag::session
