// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>

#include "starts.h"
#include "workload/workload.h"

namespace rsslag::workload {
namespace {

constexpr std::array kWorkloads{
    Workload{"classic", "100 threads that each touch 1 MiB (--threads, --kb)", Motion::Quiet, start_classic},
    Workload{"few-pages", "32 threads that each touch 60 pages (--threads, --kb)", Motion::Quiet, start_few_pages},
    Workload{"per-cpu", "pinned to each CPU in turn, each member left just under the batch", Motion::Quiet,
             start_per_cpu},
    Workload{"single", "one thread that touches 1 MiB (--kb)", Motion::Quiet, start_single},
    Workload{"many-threads", "10,000 threads that each touch one page (--threads, --kb)", Motion::Quiet,
             start_many_threads},
    Workload{"busy", "8 threads that map, touch and unmap without pause (--threads)", Motion::Busy, start_busy},
    Workload{"storm", "a thread that faults in 8 MiB and drops it, forever (--threads)", Motion::Busy, start_storm},
};

}  // namespace

std::span<const Workload> all() {
    return kWorkloads;
}

const Workload *find(std::string_view name, std::span<const Workload> among) {
    const auto found = std::ranges::find(among, name, &Workload::name);
    return found == among.end() ? nullptr : &*found;
}

}  // namespace rsslag::workload
