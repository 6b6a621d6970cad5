// SPDX-License-Identifier: BSD-2-Clause
#include "system/kept_processes.h"

#include <utility>

#include "system/targets.h"

namespace rsslag::system {
namespace {

/// Three quarters of the limit. The rest is for short-lived descriptors: iterators, files of /proc, recordings.
rlim_t most_descriptors() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return RLIM_INFINITY;
    return limit.rlim_cur - limit.rlim_cur / 4;
}

}  // namespace

core::Result<const procfs::Process *> KeptProcesses::of(int number, pid_t pid) {
    Known &known = known_[number];
    if (known.kept) return &*known.kept;
    auto process = procfs::Process::open(pid);
    if (!process) return process.error();
    // The kernel returns the lowest free descriptor, so its number equals the number of descriptors in use.
    const bool scarce = static_cast<rlim_t>(process->dir_fd()) >= most_descriptors();
    if (scarce || known.started) {
        const auto stat = process->leader_stat();
        if (!stat) return stat.error();
        if (known.started.value_or(stat->start_ticks) != stat->start_ticks) return gone(pid);
        known.started = stat->start_ticks;
    }
    if (scarce) return &opened_.emplace(std::move(*process));
    return &known.kept.emplace(std::move(*process));
}

}  // namespace rsslag::system
