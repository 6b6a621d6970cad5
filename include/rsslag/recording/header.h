// SPDX-License-Identifier: BSD-2-Clause
// What a recording says of itself before its first record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rsslag/core/losses.h"
#include "rsslag/core/scheme.h"

namespace rsslag::recording {

/// The version that is written, and the newest that is read.
inline constexpr std::uint32_t kVersion = 2;

struct Header {
    std::uint32_t version = kVersion;  ///< as the file has it
    std::string writer;                ///< rsslag's version
    std::string kernel;                ///< uname -r
    std::string arch;                  ///< uname -m
    std::string host;                  ///< uname -n
    std::string boot_id;               ///< /proc/sys/kernel/random/boot_id; empty: the file does not tell
    std::string trace_id;              ///< random, of all segments of a recording; empty: the file does not tell
    std::vector<std::string> command_line;
    core::Machine machine;
    core::Calibration calibration;
    std::vector<std::string> missing_hooks;
    std::uint64_t start_ns = 0;      ///< CLOCK_MONOTONIC; times of records and readings are of that clock
    std::int64_t start_unix_ns = 0;  ///< CLOCK_REALTIME at that moment
    std::int64_t boot_unix_ns = 0;   ///< when the machine was started; start_ticks count from there
    std::int64_t clock_ticks = 100;  ///< a second, of start_ticks
    std::uint64_t id_key = 0;        ///< what the ids of mms were made with
    // How it was traced.
    bool follow = false;
    bool counting = false;
    bool walk = true;
    std::uint8_t threads = 0;  ///< which threads ticks list: 0 all, 1 changed, 2 top, 3 none
    std::uint64_t threads_top = 0;
    std::uint64_t interval_ms = 1000;
    std::uint64_t segment = 0;  ///< from 0; a later one begins with what was true when it was begun
    core::Losses before;        ///< sent and lost before this recording began
};

}  // namespace rsslag::recording
