// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/row_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "analysis/check_interval.h"
#include "analysis/recorded.h"
#include "analysis/replay.h"
#include "analysis/row_maker.h"

namespace rsslag::analysis {
namespace {

using core::Status;

exporters::Ending ending_of(ReplayResult result) {
    const core::Summary &summary = result.summary;
    const std::uint64_t start_ns = result.header.start_ns;
    const auto since_start = [start_ns](std::uint64_t t_ns) { return t_ns - std::min(t_ns, start_ns); };
    exporters::Ending ending{summary, result.complete, {}, summary.duration_ns, summary.all};
    for (recording::Missing &missing : result.missing) {
        const std::uint64_t to_ns = missing.to_ns ? since_start(*missing.to_ns) : summary.duration_ns;
        ending.missing.push_back({std::move(missing.reason), since_start(missing.from_ns), to_ns, missing.records});
    }
    return ending;
}

}  // namespace

exporters::Facts sink_facts(const recording::Header &header) {
    exporters::Facts facts;
    facts.kernel = header.kernel;
    facts.arch = header.arch;
    facts.host = header.host;
    facts.boot_id = header.boot_id;
    facts.trace_id = header.trace_id;
    facts.segment = header.segment;
    facts.command_line = fmt::format("rsslag {}", fmt::join(header.command_line, " "));
    facts.follow = header.follow;
    facts.sample_period = header.sample_period;
    facts.mode = header.counting ? "counts" : "events";
    facts.machine = header.machine;
    facts.calibration = header.calibration;
    facts.time = std::chrono::system_clock::time_point(std::chrono::nanoseconds(header.start_unix_ns));
    return facts;
}

core::Result<Stopped> emit_rows(const std::string &path, exporters::Sink &sink, const Stop &stop) {
    RowMaker maker(sink);
    ReplayOptions options;
    options.threads = core::ThreadChoice{core::ThreadChoice::Which::All, 0};
    options.ended_tasks = true;
    options.stop = stop;
    auto replay = Replay::open(path, &maker, options);
    if (!replay) return replay.error();
    maker.begin(replay->header().start_ns);
    if (Status begun = sink.begin(sink_facts(replay->header())); !begun) return begun.error();
    bool more = true;
    for (CheckInterval check; more && !maker.failed();) {
        if (check.is_due(replay->work()) && stop(replay->work())) return Stopped::Yes;
        more = replay->step();
        maker.reached(replay->complete_until());
    }
    if (stop(replay->work())) return Stopped::Yes;  // the events ended because of `stop`, not at the end of the file
    if (!more) {
        ReplayResult end = replay->finish();
        if (stop(replay->work())) return Stopped::Yes;
        Status ended = maker.finish();
        if (ended) ended = sink.end(ending_of(std::move(end)));
        if (ended) return Stopped::No;
        if (stop(replay->work())) return Stopped::Yes;  // the sink was interrupted
        return ended.error();
    }
    if (stop(replay->work())) return Stopped::Yes;
    return maker.finish().error();
}

}  // namespace rsslag::analysis
