// SPDX-License-Identifier: BSD-2-Clause
#include "system/own_cost.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>
#include <utility>

#include "procfs/process.h"

namespace rsslag::system {
namespace {

std::uint64_t clock_ns(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

/// What the time namespace of this process adds to CLOCK_MONOTONIC (time_namespaces(7)).
std::int64_t offset_of_namespace() {
    std::ifstream offsets("/proc/self/timens_offsets");
    std::string clock;
    std::int64_t seconds = 0, ns = 0;
    while (offsets >> clock >> seconds >> ns)
        if (clock == "monotonic" || clock == "1") return seconds * 1'000'000'000 + ns;
    return 0;
}

/// 0 if it has ended.
std::int64_t resident_kb(pid_t pid) {
    const auto process = procfs::Process::open(pid);
    if (!process) return 0;
    const auto statm = process->statm();
    return statm ? statm->resident.n * (sysconf(_SC_PAGESIZE) / 1024) : 0;
}

}  // namespace

std::uint64_t monotonic_ns() {
    static const std::int64_t offset = offset_of_namespace();
    return clock_ns(CLOCK_MONOTONIC) - static_cast<std::uint64_t>(offset);
}

double cpu_seconds() {
    return static_cast<double>(clock_ns(CLOCK_PROCESS_CPUTIME_ID)) / 1e9;
}

OwnCostMeter::OwnCostMeter(std::uint64_t first_ns, pid_t helper)
    : helper_(helper), wall_ns_(monotonic_ns()), cpu_ns_(cpu_ns()), least_ns_(first_ns) {}

std::uint64_t OwnCostMeter::cpu_ns() const {
    clockid_t clock = 0;
    const bool helped = helper_ > 0 && clock_getcpuclockid(helper_, &clock) == 0;
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID) + (helped ? clock_ns(clock) : 0);
}

core::OwnCost OwnCostMeter::since_last(std::uint64_t bpf_ns, std::uint64_t events) {
    const std::uint64_t wall = monotonic_ns();
    const std::uint64_t cpu = std::max(cpu_ns(), cpu_ns_);  // the helper may have ended
    core::OwnCost cost;
    const std::uint64_t past = std::max(wall - wall_ns_, std::exchange(least_ns_, 0));
    if (past > 0) cost.cpu_percent = 100.0 * static_cast<double>(cpu - cpu_ns_) / static_cast<double>(past);
    if (bpf_ns > bpf_ns_ && events > events_) {
        cost.bpf_ns_per_event = static_cast<double>(bpf_ns - bpf_ns_) / static_cast<double>(events - events_);
    }
    cost.rss.n = resident_kb(getpid()) + (helper_ > 0 ? resident_kb(helper_) : 0);
    wall_ns_ = wall;
    cpu_ns_ = cpu;
    bpf_ns_ = bpf_ns;
    events_ = events;
    return cost;
}

}  // namespace rsslag::system
