// SPDX-License-Identifier: BSD-2-Clause
// How a trace is made and told, as the command line of live and record has it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/tick.h"
#include "rsslag/host/targets.h"

namespace rsslag::session {

/// Progress: a line on stderr and nothing else, while a recording is made. Silent: nothing at all.
enum class Format : std::uint8_t { Screen, Lines, Csv, Jsonl, Progress, Silent };

struct TraceOptions {
    host::TargetArguments targets;
    bool follow = false;
    bool no_walk = false;
    bool no_names = false;  ///< nobody tells what is mapped where
    bool no_wait = false;
    bool events = false;
    bool as_root = false;
    bool sampled = false;   ///< where BPF cannot be used, samples of /proc do
    bool force = false;     ///< a recording replaces a file that is there
    std::string recording;  ///< where to; empty: none is made
    std::vector<std::string> command_line;
    std::string version;  ///< of this rsslag, for the header of a recording
    std::string mode = "events";
    struct {
        std::string interval = "1s";
        std::string duration;
        std::string format;  ///< empty: the screen where there can be one, else lines
        std::string threads;
        std::string ring = "2M";
        std::string sync = "5s";
        std::string max_size;
    } typed;  ///< as typed
    std::chrono::milliseconds interval{1000};
    std::optional<std::chrono::milliseconds> duration;
    Format format = Format::Lines;
    core::ThreadChoice threads;
    std::size_t ring_bytes = 0;
    std::chrono::milliseconds sync{5000};
    std::optional<std::uint64_t> max_bytes;  ///< of a recording; nullopt: all of it is kept
};

}  // namespace rsslag::session
