// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/core/process_reading.h"

#include <algorithm>

namespace rsslag::core {

Finding ProcessReading::finding() const {
    const auto hides = [](const auto &cacher) { return caches_rss(cacher.cached); };
    const auto cachers =
        std::count_if(tasks.begin(), tasks.end(), hides) + std::count_if(cpus.begin(), cpus.end(), hides);
    Finding finding;
    finding.pid = pid;
    finding.stat = readers.stat;
    finding.cached = verdict.cached;
    finding.flushed = verdict.flushed;
    finding.leader_gone = leader_gone;
    finding.exact_rss = verdict.exact.rss();
    finding.cachers = static_cast<std::size_t>(cachers);
    finding.bound = bound;
    finding.verdict = verdict.verdict;
    return finding;
}

}  // namespace rsslag::core
