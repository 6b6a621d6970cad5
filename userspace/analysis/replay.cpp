// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/replay.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "analysis/recorded.h"
#include "core/text.h"

namespace rsslag::analysis {
namespace {

/// Appended to the reason of the last missing part that is listed separately.
constexpr std::string_view kMore = ", and more after it";

core::SnapshotDocument document_of(const recording::Header &header) {
    using std::chrono::system_clock;
    core::SnapshotDocument facts;
    facts.time = system_clock::time_point(
        std::chrono::duration_cast<system_clock::duration>(std::chrono::nanoseconds(header.start_unix_ns)));
    facts.kernel = header.kernel;
    facts.arch = header.arch;
    facts.machine = header.machine;
    facts.calibration = header.calibration;
    return facts;
}

/// What followed the end of a recording that is not complete may have been more.
void mark_incomplete(core::Summary &summary) {
    summary.all.lossy = true;
    summary.all.read_late = false;
    for (core::Summary::Process &process : summary.processes) {
        if (process.state != core::State::Running) continue;
        process.extremes.lossy = true;
        process.extremes.read_late = false;
    }
}

}  // namespace

recording::PeakLag peak_of(const core::Summary &summary) {
    recording::PeakLag peak;
    for (const core::Summary::Process &process : summary.processes) {
        if (process.extremes.lag > peak.lag) peak = {process.extremes.lag_t_ns, process.pid, process.extremes.lag};
    }
    return peak;
}

struct Replay::State {
    State(recording::Reader file, const AnalyzerOptions &options, const std::function<bool(std::uint64_t)> &stop)
        : reader(std::move(file)),
          facts(document_of(reader.header())),
          analyzer(facts_of(reader.header()), with_stop(options, stop)) {}

    recording::Reader reader;
    core::SnapshotDocument facts;
    analysis::Analyzer analyzer;
    std::vector<recording::Missing> missing;
    core::OwnCost own;  ///< at the last tick
    bool stopped = false;
    bool cut = false;       ///< reading was stopped before the end
    bool mid_tick = false;  ///< started in the middle of a tick, some of whose readings may be missing

    AnalyzerOptions with_stop(AnalyzerOptions options, const std::function<bool(std::uint64_t)> &stop) {
        if (stop) options.stop = [this, stop](std::uint64_t work) { return stop(reader.unpacked() + work); };
        return options;
    }
    void apply(event::Event event);
    void lack(recording::Missing gap);
    bool overfull();
};

void Replay::State::apply(event::Event event) {
    if (mid_tick && std::holds_alternative<event::Watermark>(event)) mid_tick = false;
    if (mid_tick && std::holds_alternative<event::Reading>(event)) return;
    stopped = stopped || std::holds_alternative<event::Stop>(event);
    if (const auto *const tick = std::get_if<event::TickEnd>(&event)) own = tick->own;
    analyzer.apply(std::move(event));
}

/// A missing part without an end time is the end of an unfinished recording. That may be cut anywhere, so no loss is
/// known.
void Replay::State::lack(recording::Missing gap) {
    constexpr std::size_t kMost = 1000;
    if (gap.to_ns) apply(event::Gap{gap.records.value_or(1), 1});
    if (missing.size() < kMost) return missing.push_back(std::move(gap));
    recording::Missing &rest = missing.back();
    if (!rest.reason.ends_with(kMore)) rest.reason += kMore;
    rest.to_ns = gap.to_ns;
    rest.records = rest.records && gap.records ? std::optional(*rest.records + *gap.records) : std::nullopt;
}

/// No tracer leaves that many records without a watermark.
bool Replay::State::overfull() {
    constexpr std::size_t kMostWaiting = std::size_t{96} << 20;
    if (analyzer.waiting_bytes() <= kMostWaiting) return false;
    if (!std::exchange(cut, true)) {
        missing.push_back({"too many records between two progress marks: the rest is not read",
                           analyzer.last_moment().t_ns, std::nullopt, std::nullopt});
    }
    return true;
}

core::Result<Replay> Replay::open(const std::string &path, TraceObserver *observer, const ReplayOptions &options) {
    auto input = recording::open_file(path);
    if (!input) return input.error();
    input->stop = options.stop;
    auto reader = recording::Reader::open(std::move(*input), core::printable(path));
    if (!reader) return reader.error();
    const recording::Header &header = reader->header();
    analysis::AnalyzerOptions chosen;
    chosen.threads = options.threads.value_or(
        core::ThreadChoice{static_cast<core::ThreadChoice::Which>(header.threads), header.threads_top});
    chosen.for_screen = options.for_screen;
    chosen.ended_tasks = options.ended_tasks;
    chosen.counting = header.counting;
    chosen.observer = observer;
    if (options.from) reader->seek(*options.from);
    auto state = std::make_unique<State>(std::move(*reader), chosen, options.stop);
    state->mid_tick = options.from.has_value();
    return Replay(std::move(state));
}

Replay::Replay(std::unique_ptr<State> state) : state_(std::move(state)) {}
Replay::~Replay() = default;
Replay::Replay(Replay &&) noexcept = default;
Replay &Replay::operator=(Replay &&) noexcept = default;

const recording::Header &Replay::header() const {
    return state_->reader.header();
}

const core::SnapshotDocument &Replay::facts() const {
    return state_->facts;
}

std::vector<recording::Position> Replay::positions() const {
    return state_->reader.positions();
}

std::optional<recording::PeakLag> Replay::peak() const {
    return state_->reader.peak();
}

std::uint64_t Replay::work() const {
    return state_->reader.unpacked() + state_->analyzer.work();
}

bool Replay::interrupted() const {
    return state_->analyzer.interrupted();
}

std::uint64_t Replay::complete_until() const {
    return state_->analyzer.complete_until();
}

bool Replay::step() {
    State &state = *state_;
    if (state.overfull()) return false;
    auto next = state.reader.next();
    if (!next) return false;
    if (auto *const gap = std::get_if<recording::Missing>(&*next)) {
        state.lack(std::move(*gap));
    } else {
        state.apply(std::move(std::get<event::Event>(*next)));
    }
    return true;
}

ReplayResult Replay::finish() {
    State &state = *state_;
    // An unfinished recording ends at its last event.
    if (!state.stopped) state.apply(event::Stop{state.analyzer.last_moment()});
    if (!state.analyzer.summary()) state.apply(event::End{state.analyzer.last_moment(), state.own});
    ReplayResult end;
    end.header = header();
    end.summary = *state.analyzer.summary();
    end.complete = state.reader.complete() && state.missing.empty();
    if (!end.complete) mark_incomplete(end.summary);
    end.missing = state.missing;
    end.records = state.reader.records();
    return end;
}

}  // namespace rsslag::analysis
