// SPDX-License-Identifier: BSD-2-Clause
#include "system/own_cost.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "procfs/process.h"

namespace rsslag::system {
namespace {

std::uint64_t clock_ns(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

std::uint64_t monotonic_ns() {
    return clock_ns(CLOCK_MONOTONIC);
}

double cpu_seconds() {
    return static_cast<double>(clock_ns(CLOCK_PROCESS_CPUTIME_ID)) / 1e9;
}

OwnCostMeter::OwnCostMeter(std::uint64_t first_ns)
    : wall_ns_(monotonic_ns()), cpu_ns_(clock_ns(CLOCK_PROCESS_CPUTIME_ID)), least_ns_(first_ns) {}

core::OwnCost OwnCostMeter::since_last(std::uint64_t bpf_ns, std::uint64_t events) {
    const std::uint64_t wall = monotonic_ns();
    const std::uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    core::OwnCost cost;
    const std::uint64_t past = std::max(wall - wall_ns_, std::exchange(least_ns_, 0));
    if (past > 0) cost.cpu_percent = 100.0 * static_cast<double>(cpu - cpu_ns_) / static_cast<double>(past);
    if (bpf_ns > bpf_ns_ && events > events_) {
        cost.bpf_ns_per_event = static_cast<double>(bpf_ns - bpf_ns_) / static_cast<double>(events - events_);
    }
    if (const auto self = procfs::Process::open(getpid())) {
        if (const auto statm = self->statm()) cost.rss = {statm->resident.n * (sysconf(_SC_PAGESIZE) / 1024)};
    }
    wall_ns_ = wall;
    cpu_ns_ = cpu;
    bpf_ns_ = bpf_ns;
    events_ = events;
    return cost;
}

}  // namespace rsslag::system
