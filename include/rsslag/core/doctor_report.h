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

/// What this kernel and this user allow.
struct DoctorReport {
    /// A hook or a capability.
    struct Item {
        std::string name;
        bool usable = false;
        std::string reason;  ///< why it is not usable
    };

    struct Problem {
        std::string what;
        std::string remedy;
        bool fatal = false;  ///< tracing does not work
    };

    std::chrono::system_clock::time_point time;
    std::string kernel;
    std::string arch;
    Machine machine;               ///< its `scheme` is valid only if the member below is not nullopt
    std::optional<Scheme> scheme;  ///< nullopt: an unknown layout, or no BTF
    std::string scheme_evidence;
    std::optional<bool> btf;  ///< nullopt here and below: not checked
    std::optional<bool> task_iterator;
    std::optional<bool> task_iterator_by_group;
    std::vector<Item> hooks;
    std::vector<Item> capabilities;
    std::string lockdown;  ///< empty: not readable
    std::optional<int> seccomp_mode;
    std::optional<int> hidepid;                  ///< of the mounted /proc
    std::optional<bool> page_monitor;            ///< CONFIG_PROC_PAGE_MONITOR, which provides smaps and pagemap
    std::optional<std::uint64_t> memlock_bytes;  ///< nullopt: unlimited
    std::optional<Calibration> calibration;
    std::optional<std::int64_t> calibration_us;
    std::string setcap_remedy;  ///< a command that gives an ordinary user the capabilities for tracing
    std::vector<Problem> problems;

    bool tracing_works() const {
        return std::none_of(problems.begin(), problems.end(), [](const Problem &problem) { return problem.fatal; });
    }
};

}  // namespace rsslag::core
