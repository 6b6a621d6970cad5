// SPDX-License-Identifier: BSD-2-Clause
#include "metrics_reader.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "metrics/groups.h"
#include "version.h"

namespace rsslag::cli {

MetricsReader::MetricsReader(system::AllProcesses all, metrics::By by, std::size_t most)
    : all_(std::move(all)), names_(by), by_(by), most_(most) {}

core::Result<MetricsReader> MetricsReader::open(metrics::By by, std::size_t most,
                                                std::vector<cap_value_t> capabilities) {
    if (core::Status there = metrics::supported(); !there) return there.error();
    system::SnapshotterOptions options;
    options.walks = false;
    options.capabilities = std::move(capabilities);
    if (by == metrics::By::Exe) options.capabilities.push_back(CAP_SYS_PTRACE);
    auto all = system::AllProcesses::open(std::move(options));
    if (!all) return all.error();
    return MetricsReader(std::move(*all), by, most);
}

core::Result<metrics::Exposition> MetricsReader::read() {
    const auto begin = std::chrono::steady_clock::now();
    auto pass = all_.read();
    if (!pass) return pass.error();
    metrics::oldest_first(pass->processes);
    const core::SnapshotDocument &facts = pass->facts;
    metrics::Exposition exposition;
    exposition.machine = facts.machine;
    exposition.kernel = facts.kernel;
    exposition.version = version_text().substr(0, version_text().find(','));
    exposition.label = metrics::name(by_);
    metrics::Grouping grouping(facts.machine);
    const pid_t self = getpid();
    for (const core::ProcessTotal &process : pass->processes) {
        grouping.add(names_.of(process), process);
        if (process.tgid == self) own_resident_bytes_ = process.exact().rss().n * facts.machine.page_size.bytes;
    }
    exposition.groups = grouping.take(most_);
    exposition.reading_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return exposition;
}

}  // namespace rsslag::cli
