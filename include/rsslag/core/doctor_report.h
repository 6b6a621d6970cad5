// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/scheme.h"

namespace rsslag::core {

/// What this kernel and this user can do.
struct DoctorReport {
    /// A hook, a capability: a name and whether it is to be had.
    struct Item {
        std::string name;
        bool usable = false;
        std::string reason;  ///< why not
    };

    struct Problem {
        std::string what;
        std::string remedy;
        bool fatal = false;  ///< tracing does not work with it
    };

    std::chrono::system_clock::time_point time;
    std::string kernel;
    std::string arch;
    Machine machine;               ///< its scheme counts only where `scheme` is known
    std::optional<Scheme> scheme;  ///< nullopt: unknown or no BTF
    std::string scheme_evidence;
    std::optional<bool> btf;  ///< nullopt here and below: not asked
    std::optional<bool> task_iterator;
    std::optional<bool> task_iterator_by_group;
    std::vector<Item> hooks;
    std::vector<Item> capabilities;
    std::string lockdown;  ///< empty: cannot be read
    std::optional<int> seccomp_mode;
    std::optional<int> hidepid;                  ///< of the /proc that is mounted
    std::optional<bool> page_monitor;            ///< CONFIG_PROC_PAGE_MONITOR: smaps and pagemap exist
    std::optional<std::uint64_t> memlock_bytes;  ///< nullopt: unlimited
    std::optional<Calibration> calibration;
    std::optional<std::int64_t> calibration_us;
    std::string setcap_remedy;  ///< gives an ordinary user what tracing needs
    std::vector<Problem> problems;

    bool tracing_works() const {
        return std::none_of(problems.begin(), problems.end(), [](const Problem &problem) { return problem.fatal; });
    }
};

}  // namespace rsslag::core
