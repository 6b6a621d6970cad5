// SPDX-License-Identifier: BSD-2-Clause
// The header of a recording.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/losses.h"
#include "core/mm_id.h"
#include "core/scheme.h"

namespace rsslag::recording {

/// The version of the format. Files of other versions cannot be read.
inline constexpr std::uint32_t kVersion = 2;

struct Header {
    std::uint32_t version = kVersion;  ///< of the file
    std::string writer;                ///< rsslag's version
    std::string kernel;                ///< uname -r
    std::string arch;                  ///< uname -m
    std::string host;                  ///< uname -n
    std::string boot_id;               ///< /proc/sys/kernel/random/boot_id; empty: not in the file
    std::string trace_id;              ///< random, the same in all segments of a recording; empty: not in the file
    std::vector<std::string> command_line;
    core::Machine machine;
    core::Calibration calibration;
    std::vector<std::string> missing_hooks;
    std::uint64_t start_ns = 0;      ///< CLOCK_MONOTONIC, like the times of records and readings
    std::int64_t start_unix_ns = 0;  ///< CLOCK_REALTIME at start_ns
    std::int64_t boot_unix_ns = 0;   ///< CLOCK_REALTIME at boot; start_ticks are relative to it
    std::int64_t clock_ticks = 100;  ///< start_ticks per second
    core::IdKey id_key;              ///< the key of mm ids: core::mm_id(); the second half is 0 in old files
    // The options of the trace.
    bool follow = false;
    bool counting = false;
    bool walk = true;
    std::uint8_t threads = 0;  ///< which threads ticks list: 0 all, 1 changed, 2 top, 3 none
    std::uint64_t threads_top = 0;
    std::uint64_t interval_ms = 1000;
    std::uint32_t sample_period = 0;  ///< --stacks: pages to a sample, on average; 0: no samples
    std::uint64_t segment = 0;  ///< number of the segment, from 0; later ones start with events for the current state
    core::Losses before;        ///< sent and lost before this recording started
};

}  // namespace rsslag::recording
