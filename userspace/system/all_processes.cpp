// SPDX-License-Identifier: BSD-2-Clause
#include "system/all_processes.h"

#include <utility>

namespace rsslag::system {

core::Result<AllProcesses> AllProcesses::open(SnapshotterOptions options) {
    options.totals = true;
    auto snapshotter = Snapshotter::open(options);
    if (!snapshotter) return snapshotter.error();
    return AllProcesses(std::move(*snapshotter));
}

core::Result<AllProcesses::Pass> AllProcesses::read() {
    const auto begin = std::chrono::steady_clock::now();
    auto processes = snapshotter_.read_all();
    if (!processes) return processes.error();
    const auto took = std::chrono::steady_clock::now() - begin;
    return Pass{snapshotter_.document(), std::move(*processes),
                std::chrono::duration_cast<std::chrono::microseconds>(took)};
}

}  // namespace rsslag::system
