// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/reading.h"
#include "core/result.h"
#include "core/scheme.h"
#include "core/units.h"

namespace rsslag::lib {

/// The values of enum rsslag_way in rsslag.h.
enum class Way : std::uint8_t { Bpf = 1, File = 2, Status = 4, Rollup = 8 };
inline constexpr std::uint32_t kAllWays = 15;
const char *name(Way way);
/// The error for a way that the caller's options exclude.
core::Error not_allowed(Way way);

/// One process. Values that its way does not provide are nullopt.
struct Reading {
    int pid = 0;
    std::string comm;  ///< raw bytes
    Way way = Way::Bpf;
    core::Pages rss;                      ///< exact
    std::optional<core::Members> exact;   ///< nullopt: not known by member
    std::optional<core::Members> cached;  ///< flushed = exact - cached
    std::optional<core::Pages> swap, cached_rss, lag;
    std::optional<std::int64_t> threads;  ///< of the process, as in /proc/PID/status
    std::optional<std::int64_t> tasks;    ///< that can cache updates of the mm; nullopt: not counted
    bool moved = false;
    bool foreign = false;  ///< other processes share the mm, and what their threads cache is not included
    std::int64_t took_ns = 0;
};

struct Readings {
    std::vector<Reading> readings;
    std::size_t unreadable = 0;  ///< processes that this user may not read
};

/// Sets the fields that are computed from counters: exact, cached, rss, swap, cached_rss and lag.
inline void fill_in_counters(Reading &reading, const core::Members &flushed, const core::Members &cached) {
    const core::Members exact = flushed + cached;
    reading.exact = exact;
    reading.cached = cached;
    reading.rss = exact.rss();
    reading.swap = exact.swap;
    reading.cached_rss = cached.rss();
    reading.lag = core::lag(exact, flushed);
}

}  // namespace rsslag::lib
