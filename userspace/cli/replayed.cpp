// SPDX-License-Identifier: BSD-2-Clause
#include "replayed.h"

#include <set>
#include <utility>

#include "file_source.h"
#include "rsslag/core/text.h"

namespace rsslag::cli {

using recording::Ask;

recording::Peak peak_of(const view::Summary &summary) {
    recording::Peak peak;
    for (const view::Summary::Process &process : summary.processes) {
        if (process.peak_lag > peak.lag) peak = {process.peak_lag_t_ns, process.pid, process.peak_lag};
    }
    return peak;
}

struct Replay::State {
    State(FileSource *file, Tracer &&over, ReplayHandlers &&asked)
        : source(file), tracer(std::move(over)), handlers(std::move(asked)) {}

    FileSource *source;  ///< the tracer's
    Tracer tracer;
    ReplayHandlers handlers;
    std::vector<recording::Missing> missing;
    std::optional<view::Summary> summary;
    std::uint64_t ticks = 0;
    bool stopped = false;
    bool gaps = false;

    void tell(std::vector<view::Tick> told);
    void adopt_unknown();
    void make(const recording::Call &call);
    void stop();
};

void Replay::State::tell(std::vector<view::Tick> told) {
    ticks += told.size();
    if (!handlers.on_tick) return;
    for (view::Tick &tick : told)
        handlers.on_tick(std::move(tick));
}

/// Processes whose attach or birth is not in the recording any more: what they have done until now is their baseline.
void Replay::State::adopt_unknown() {
    std::set<int> known;
    for (const core::GroupView &group : tracer.groups())
        known.insert(group.host_tgid);
    for (const auto &[host_tgid, reading] : source->readings()) {
        if (known.count(host_tgid) == 0) tracer.adopt(host_tgid, reading);
    }
}

void Replay::State::make(const recording::Call &call) {
    switch (call.ask) {
        case Ask::Attach: std::ignore = tracer.attach(call.pid); break;
        case Ask::AttachAtExec: std::ignore = tracer.attach_at_exec(call.pid); break;
        case Ask::AttachMatching: std::ignore = tracer.attach_matching({}); break;
        case Ask::Collect: tell(tracer.collect()); break;
        case Ask::Tick:
            if (gaps) adopt_unknown();
            tell(tracer.tick());
            break;
        case Ask::WalkNow: tracer.walk_now(call.pid); break;
        case Ask::Stop: stop(); break;
        case Ask::Summary:
            stop();
            summary = tracer.summary();
            break;
    }
}

void Replay::State::stop() {
    if (!std::exchange(stopped, true)) tell(tracer.stop());
}

core::Result<Replay> Replay::open(const std::string &path, ReplayHandlers handlers, const ReplayOptions &options) {
    auto input = recording::open_file(path);
    if (!input) return input.error();
    auto reader = recording::Reader::open(std::move(*input), core::printable(path));
    if (!reader) return reader.error();
    const recording::Header &header = reader->header();
    Tracer::Options wanted;
    wanted.follow = header.follow;
    wanted.counting = header.counting;
    wanted.walk = header.walk;
    wanted.threads = options.threads.value_or(
        view::ThreadChoice{static_cast<view::ThreadChoice::Which>(header.threads), header.threads_top});
    wanted.for_screen = options.for_screen;
    wanted.on_update = handlers.on_update;
    wanted.on_applied = handlers.on_applied;
    wanted.on_task = handlers.on_task;
    wanted.on_fault = handlers.on_fault;
    wanted.on_sum = handlers.on_sum;
    wanted.on_reading = handlers.on_reading;
    wanted.on_loss = handlers.on_loss;
    if (options.from) reader->seek(*options.from);
    auto source = std::make_unique<FileSource>(std::move(*reader));
    FileSource *const file = source.get();
    auto state = std::make_unique<State>(file, Tracer::over(std::move(source), std::move(wanted)), std::move(handlers));
    state->gaps = options.from.has_value();
    return Replay(std::move(state));
}

Replay::Replay(std::unique_ptr<State> state) : state_(std::move(state)) {}
Replay::~Replay() = default;
Replay::Replay(Replay &&) noexcept = default;
Replay &Replay::operator=(Replay &&) noexcept = default;

const recording::Header &Replay::header() const {
    return state_->source->reader().header();
}

const view::SnapshotDocument &Replay::facts() const {
    return state_->tracer.facts();
}

std::vector<recording::Place> Replay::places() const {
    return state_->source->reader().places();
}

std::optional<recording::Peak> Replay::peak() const {
    return state_->source->reader().peak();
}

const Tracer &Replay::tracer() const {
    return state_->tracer;
}

bool Replay::step() {
    State &state = *state_;
    const auto step = state.source->next();
    if (!step) return false;
    for (const recording::Missing &missing : step->missing) {
        state.gaps = true;
        state.missing.push_back(missing);
    }
    if (step->call) {
        state.make(*step->call);
    } else if (!state.stopped) {
        state.tell(state.tracer.collect());
    }
    return true;
}

Replayed Replay::finish() {
    State &state = *state_;
    state.stop();
    Replayed end;
    end.header = header();
    end.summary = state.summary ? std::move(*state.summary) : state.tracer.summary();
    end.summary.ticks = state.ticks;
    end.complete = state.source->reader().complete() && state.missing.empty();
    end.missing = state.missing;
    end.records = state.source->reader().records();
    return end;
}

}  // namespace rsslag::cli
