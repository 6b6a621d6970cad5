// SPDX-License-Identifier: BSD-2-Clause
#include "metrics_tracer.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace rsslag::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Interval of the search for forked processes. The kernel filter matches names at an exec only.
constexpr std::chrono::seconds kBetweenLooks{1};

}  // namespace

MetricsTracer::MetricsTracer(host::Tracer tracer, host::TargetArguments arguments, metrics::By by, std::size_t most)
    : tracer_(std::move(tracer)), arguments_(std::move(arguments)), names_(by), groups_(most) {}

core::Result<MetricsTracer> MetricsTracer::open(std::vector<std::string> comms, metrics::By by, std::size_t most,
                                                std::function<bool()> stopped) {
    host::TargetArguments arguments;
    arguments.comms = std::move(comms);
    const auto pattern = host::pattern_of(arguments);
    if (!pattern) return pattern.error();
    host::Tracer::Options chosen;
    chosen.counting = true;
    chosen.walk = false;
    chosen.stop_waiting = std::move(stopped);
    chosen.threads = {core::ThreadChoice::Which::None, 0};
    auto tracer = host::Tracer::open(chosen);
    if (!tracer) return tracer.error();
    if (*pattern) {
        if (const core::Status matching = tracer->attach_matching(**pattern); !matching) return matching.error();
    }
    MetricsTracer opened(std::move(*tracer), std::move(arguments), by, most);
    opened.collect();
    return opened;
}

void MetricsTracer::look_for_targets() {
    const auto targets = host::resolve(arguments_);
    if (!targets) return;  // nothing matches yet
    for (const host::Target &target : *targets) {
        if (tracer_.traces(target.pid)) continue;
        const core::Status attached = tracer_.attach(target.pid);
        if (attached) continue;
        spdlog::debug("{}: {}", target.pid, attached.error().what);
        tracer_.not_attached(target.pid, attached.error());
    }
}

void MetricsTracer::take(const std::vector<core::Tick> &ticks) {
    for (const core::Tick &tick : ticks) {
        groups_.take(tick, [&] {
            core::ProcessTotal process;
            process.tgid = tick.process.pid;
            process.comm = tick.process.comm;
            return names_.of(process);
        });
    }
}

void MetricsTracer::collect() {
    take(tracer_.collect());
    if (Clock::now() < look_due_) return;
    look_for_targets();
    look_due_ = Clock::now() + kBetweenLooks;
}

metrics::Exposition::Trace MetricsTracer::read() {
    look_for_targets();
    take(tracer_.tick());
    take(tracer_.collect());  // last ticks of processes that ended during tick()
    return {groups_.groups(), tracer_.losses()};
}

}  // namespace rsslag::cli
