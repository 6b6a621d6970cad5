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

core::Result<MetricsTracer> MetricsTracer::open(std::vector<std::string> comms, metrics::By by, std::size_t most,
                                                std::function<bool()> stopped) {
    system::TargetArguments arguments;
    arguments.comms = std::move(comms);
    const auto pattern = system::pattern_of(arguments);
    if (!pattern) return pattern.error();
    auto groups = std::make_unique<Groups>(by, most);
    tracer::Tracer::Options chosen;
    chosen.observer = groups.get();
    chosen.counting = true;
    chosen.walk = false;
    chosen.stop_waiting = std::move(stopped);
    chosen.threads = {core::ThreadChoice::Which::None, 0};
    auto tracer = tracer::Tracer::open(chosen);
    if (!tracer) return tracer.error();
    if (*pattern) {
        if (const core::Status matching = tracer->attach_matching(**pattern); !matching) return matching.error();
    }
    MetricsTracer opened(std::move(groups), std::move(*tracer), std::move(arguments));
    opened.collect();
    return opened;
}

void MetricsTracer::look_for_targets() {
    const auto found = system::matching(arguments_, tracer_.pids());
    if (!found) return tracer_.search_failed(found.error());
    for (const pid_t pid : *found) {
        const core::Status attached = tracer_.attach(pid);
        if (attached) continue;
        const core::Error why = system::why_not_read(pid, attached.error());
        spdlog::debug("{}: {}", pid, why.what);
        tracer_.not_attached(pid, why);
    }
}

void MetricsTracer::Groups::on_tick(core::Tick tick) {
    const core::ProcessReading &process = tick.process;
    traced.take(tick, [&] {
        if (tick.state != core::State::Exec) return names.of(process.pid, process.comm);
        return names.of_earlier(process.pid, tick.ledger.extremes.image == 0 ? process.ppid : 0, process.comm);
    });
}

void MetricsTracer::collect() {
    tracer_.collect();
    if (Clock::now() < look_due_) return;
    look_for_targets();
    look_due_ = Clock::now() + kBetweenLooks;
}

metrics::Exposition::Trace MetricsTracer::read() {
    look_for_targets();
    tracer_.tick();
    tracer_.collect();  // last ticks of processes that ended during tick()
    return {groups_->traced.groups(), tracer_.losses(), tracer_.missed()};
}

}  // namespace rsslag::cli
