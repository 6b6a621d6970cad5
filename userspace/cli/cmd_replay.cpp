// SPDX-License-Identifier: BSD-2-Clause
// rsslag replay: shows a recording as live showed it. Needs neither privileges nor BPF.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "analysis/check_interval.h"
#include "analysis/missing.h"
#include "analysis/replay.h"
#include "commands.h"
#include "core/duration.h"
#include "core/text.h"
#include "exit_status.h"
#include "file_budget.h"
#include "session/replay_screen.h"
#include "session/tick_writer.h"
#include "system/signals.h"
#include "terminal/output.h"
#include "terminal/screen.h"
#include "terminal/style.h"
#include "trace_options.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using core::Status;

struct ReplayOptions {
    std::string file;
    std::string format;
    std::string threads;
    bool events = false;
    std::string from;
    double speed = 1;
    bool mouse = true;
};

/// Prints ticks and events in order, as fast as they can be written.
class TextReplay : public analysis::TraceObserver {
  public:
    TextReplay(session::TickWriter &writer, FileBudget &budget, std::uint64_t from_ns, bool events)
        : writer_(writer), budget_(budget), from_ns_(from_ns), events_(events) {}

    int run(const std::string &file, analysis::ReplayOptions options) {
        system::StopSignals stop;
        options.stop = [this, &stop](std::uint64_t work) { return stop.stop_requested() || budget_.spent(work); };
        auto opened = analysis::Replay::open(file, this, options);
        if (!opened) return fail(opened.error());
        if (const Status begun = writer_.head({}); !begun) return fail(begun.error());
        const auto is_over = [&] { return stop.stop_requested() || budget_.spent(opened->work()) || writer_.unread(); };
        for (analysis::CheckInterval check; !(check.is_due(opened->work()) && is_over()) && opened->step();) {
            if (const Status done = writer_.flush(); !done) return fail(done.error());
        }
        if (budget_.was_spent()) return kBadInput;
        analysis::ReplayResult end = opened->finish();
        if (opened->interrupted()) {  // in the middle of an event
            terminal::print_error("no summary: a signal stopped rsslag");
            return kDone;
        }
        if (const Status written = writer_.summary(std::move(end.summary)); !written) return fail(written.error());
        const auto since_start = [&end](std::uint64_t t_ns) { return t_ns - std::min(t_ns, end.header.start_ns); };
        for (const recording::Missing &missing : end.missing)
            terminal::print_error(analysis::missing_text(
                missing.reason, since_start(missing.from_ns),
                missing.to_ns ? std::optional(since_start(*missing.to_ns)) : std::nullopt, missing.records));
        return kDone;
    }

  private:
    bool needs_updates() const override { return events_; }
    void on_update(const core::EventLine &line) override {
        if (line.t_ns >= from_ns_) writer_.on_update(line);
    }
    void on_task(const core::TaskLine &line) override {
        if (events_ && line.t_ns >= from_ns_) writer_.on_task(line);
    }
    void on_tick(core::Tick tick) override {
        if (tick.t_ns >= from_ns_) writer_.on_tick(std::move(tick));
    }

    session::TickWriter &writer_;
    FileBudget &budget_;
    std::uint64_t from_ns_;
    bool events_;
};

int replay_file(const ReplayOptions &options, const documents::TextStyle &style, FileBudget &budget) {
    analysis::ReplayOptions chosen;
    if (!options.threads.empty()) {
        const auto threads = parse_threads(options.threads);
        if (!threads) return fail(threads.error());
        chosen.threads = *threads;
    }
    std::chrono::milliseconds from{};
    if (!options.from.empty()) {
        const auto parsed = core::parse_duration(options.from);
        if (!parsed) return fail(parsed.error());
        from = *parsed;
    }
    const auto from_ns = static_cast<std::uint64_t>(from.count()) * 1'000'000;
    if (options.format.empty() && !options.events && terminal::Screen::possible()) {
        chosen.stop = [&budget](std::uint64_t work) { return budget.spent(work); };
        const Status shown = session::replay_on_screen(
            options.file, chosen, {from_ns, options.speed, [&budget] { budget.restart(); }}, style);
        return shown ? kDone : fail(shown.error());
    }
    const session::Format format = options.format == "csv"     ? session::Format::Csv
                                   : options.format == "jsonl" ? session::Format::Jsonl
                                                               : session::Format::Lines;
    // Text lists threads only with --threads; JSON contains those that were recorded.
    session::TickWriter writer(format, chosen.threads.value_or(core::ThreadChoice{core::ThreadChoice::Which::None, 0}),
                               style, options.events);
    return TextReplay(writer, budget, from_ns, options.events).run(options.file, chosen);
}

}  // namespace

Run add_replay(CLI::App &app, const Common &common) {
    auto options = std::make_shared<ReplayOptions>();
    CLI::App *const replay = app.add_subcommand("replay", "Show a recording as live does; needs no privileges");
    replay->add_option("FILE", options->file, "A recording, by rsslag record or live --record");
    CLI::Option *const format = replay->add_option(
        "--format", options->format, "lines, csv or jsonl; default: the screen on a terminal, else lines");
    replay
        ->add_flag(
            "--json", [options](std::int64_t) { options->format = "jsonl"; }, "Same as --format jsonl")
        ->excludes(format);
    replay->add_option("--threads", options->threads, "Which threads to list: all, changed, top:N or none");
    replay->add_flag("--events", options->events, "Also print a line for each record");
    replay->add_option("--from", options->from, "Show nothing before this time in the trace: 500ms, 2s, 1m");
    replay
        ->add_option("--speed", options->speed,
                     "Speed on the screen: 1 is real time, 2 twice as fast; + and - change it")
        ->check(CLI::Range(0.01, 1000.0).description(""))
        ->capture_default_str();
    replay->add_flag("!--no-mouse", options->mouse, "On the screen: leave clicks and the wheel to the terminal");
    return [options, &common] {
        if (!common.command.empty()) return fail({Kind::BadInput, "replay takes no -- CMD", 0, "name a recording"});
        if (options->file.empty()) return fail({Kind::BadInput, "no recording given", 0, "use rsslag replay FILE"});
        auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        style->mouse = options->mouse;
        FileBudget budget({options->file});
        return budget.run([&] { return replay_file(*options, *style, budget); });
    };
}

}  // namespace rsslag::cli
