// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/scheme.h"

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
    Machine machine;               ///< `machine.scheme` is valid only if `scheme` has a value
    std::optional<Scheme> scheme;  ///< nullopt: an unknown layout of mm->rss_stat, or no BTF
    std::string scheme_evidence;   ///< the types in BTF from which the scheme follows
    // nullopt: not checked, except for memlock_bytes.
    std::optional<bool> btf;
    std::optional<bool> task_iterator;
    std::optional<bool> task_iterator_by_group;
    std::vector<Item> hooks;
    std::vector<Item> capabilities;
    std::string lockdown;  ///< the active choice in /sys/kernel/security/lockdown; empty: cannot be read
    std::optional<int> seccomp_mode;
    std::optional<int> hidepid;                  ///< of the mounted /proc
    std::optional<bool> page_monitor;            ///< CONFIG_PROC_PAGE_MONITOR, which provides smaps and pagemap
    std::optional<std::uint64_t> memlock_bytes;  ///< nullopt: unlimited
    std::optional<Calibration> calibration;
    std::optional<std::int64_t> calibration_us;  ///< duration of the calibration
    std::string setcap_remedy;                   ///< a command that gives an ordinary user the capabilities for tracing
    std::vector<Problem> problems;

    bool tracing_works() const {
        return std::none_of(problems.begin(), problems.end(), [](const Problem &problem) { return problem.fatal; });
    }
};

}  // namespace rsslag::core
