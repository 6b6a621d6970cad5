// SPDX-License-Identifier: BSD-2-Clause
// rsslag top: all processes by lag. Each table is one pass of a BPF task iterator.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "commands.h"
#include "exit_status.h"
#include "metrics_reader.h"
#include "proc_runs.h"
#include "rsslag/core/duration.h"
#include "rsslag/host/own_cost.h"
#include "rsslag/host/proc_reader.h"
#include "rsslag/host/signals.h"
#include "rsslag/host/snapshotter.h"
#include "rsslag/host/tracer.h"
#include "rsslag/procfs/process.h"
#include "rsslag/session/live_view.h"
#include "rsslag/sinks/output_file.h"
#include "rsslag/terminal/output.h"
#include "rsslag/terminal/screen.h"
#include "rsslag/terminal/style.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using core::Status;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct TopOptions {
    bool once = false;
    bool json = false;
    bool prometheus = false;
    std::string output;    ///< a file, replaced atomically
    std::size_t rows = 0;  ///< 0: all
    struct {
        std::string interval = "1s";
        std::string sort = "lag";
        std::string format;
    } typed;
    milliseconds interval{1000};
    view::TopSort sort = view::TopSort::Lag;
};

Status parse(TopOptions &options) {
    const auto interval = core::parse_interval(options.typed.interval);
    if (!interval) return interval.error();
    options.interval = *interval;
    for (const view::TopSort sort :
         {view::TopSort::Lag, view::TopSort::Exact, view::TopSort::Cached, view::TopSort::Name}) {
        if (options.typed.sort == view::name(sort)) options.sort = sort;
    }
    options.json = options.json || options.typed.format == "json";
    options.prometheus = options.typed.format == "prometheus";
    if (options.prometheus && !options.once)
        return Error{Kind::BadInput, "--format prometheus requires --once", 0, "add --once, or use rsslag serve"};
    if (!options.output.empty() && !options.once) return Error{Kind::BadInput, "-o requires --once", 0, "add --once"};
    return core::success();
}

/// A file is replaced atomically, so that a concurrent reader gets the old one. Other users may read it, as a metrics
/// collector does not run as root.
Status write_out(const std::string &text, const std::string &path) {
    if (path.empty()) return terminal::print(text);
    auto file = sinks::OutputFile::open(path, true);
    if (!file) return file.error();
    if (Status shared = file->share(); !shared) return shared;
    if (Status written = file->write(text); !written) return written;
    return file->commit();
}

/// Prints the text that `rsslag serve` serves, for node_exporter's textfile collector.
int print_metrics(const TopOptions &options) {
    auto reader = MetricsReader::open(metrics::By::Comm, options.rows == 0 ? kMostGroups : options.rows);
    if (!reader) return fail(reader.error());
    const auto exposition = reader->read();
    if (!exposition) return fail(exposition.error());
    const Status written = write_out(metrics::text(*exposition, metrics::Format::Prometheus), options.output);
    return written ? kDone : fail(written.error());
}

class Top {
  public:
    Top(const TopOptions &options, view::TextStyle style, host::StopSignals &stop)
        : options_(options), style_(std::move(style)), stop_(stop), interval_(options.interval) {}

    Status open() {
        auto snapshotter = host::Snapshotter::open({.totals = true,
                                                    .capabilities = host::Tracer::capabilities_to_open(),
                                                    .stop_waiting = [this] { return is_over(); }});
        if (!snapshotter) return snapshotter.error();
        snapshotter_.emplace(std::move(*snapshotter));
        return core::success();
    }

    /// Prints tables until a signal stops rsslag, or one with --once.
    int print_tables() {
        do {
            auto table = read();
            if (!table) return fail(table.error());
            const std::string text = options_.json
                                         ? view::top_json(std::move(*table), options_.sort, options_.rows)
                                         : view::top_text(std::move(*table), options_.sort, options_.rows, style_);
            if (const Status printed = write_out(text, options_.output); !printed) return fail(printed.error());
        } while (!options_.once && !stop_.wait(interval_));
        return kDone;
    }

    int show() {
        terminal::Screen::block_signals();
        auto screen = terminal::Screen::open(style_.color);
        if (!screen) return fail(screen.error());
        screen_.emplace(std::move(*screen));
        screen_->post([interval = interval_, style = style_, sort = options_.sort](terminal::Shown &shown) {
            shown.top.emplace(interval, style, sort);
        });
        const Status ran = run();
        screen_.reset();
        return ran ? kDone : fail(ran.error());
    }

  private:
    bool is_over() { return stop_.stop_requested() || (screen_ && screen_->asked_to_quit()); }

    core::Result<view::TopTable> read() {
        const auto begin = Clock::now();
        auto processes = snapshotter_->read_all();
        if (!processes) return processes.error();
        const auto took = Clock::now() - begin;
        const core::SnapshotDocument facts = snapshotter_->document();
        view::TopTable table;
        table.time = facts.time;
        table.kernel = facts.kernel;
        table.arch = facts.arch;
        table.machine = facts.machine;
        table.calibration = facts.calibration;
        table.pass_us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
        table.own = meter_.since_last(0, 0);
        table.processes.reserve(processes->size());
        for (core::ProcessTotal &process : *processes) {
            std::string id = options_.json ? snapshotter_->mm_id(process.mm) : std::string();
            table.processes.push_back({std::move(process), std::move(id)});
        }
        return table;
    }

    Status run() {
        auto next = Clock::now();
        for (;;) {
            if (Clock::now() >= next) {
                auto table = read();
                if (!table) return table.error();
                auto shared = std::make_shared<view::TopTable>(std::move(*table));
                screen_->post([shared](terminal::Shown &shown) { shown.top->take(std::move(*shared)); });
                next = std::max(next + interval_, Clock::now());
            }
            const auto left = std::chrono::ceil<milliseconds>(next - Clock::now());
            if (stop_.wait(std::clamp(left, milliseconds{0}, kKeys))) return core::success();
            for (const view::Intent &intent : screen_->intents()) {
                if (std::holds_alternative<view::Quit>(intent)) return core::success();
                if (const auto *const interval = std::get_if<view::SetInterval>(&intent)) {
                    interval_ = interval->interval;
                    next = std::min(next, Clock::now() + interval_);
                }
                if (const auto *const walk = std::get_if<view::WalkNow>(&intent)) walk_now(walk->pid);
                if (const auto *const open = std::get_if<view::OpenLive>(&intent)) {
                    if (live(open->pid)) return core::success();
                    next = Clock::now();
                }
            }
        }
    }

    void walk_now(pid_t pid) {
        const auto process = procfs::Process::open(pid);
        auto reading =
            process ? snapshotter_->take(*process, true) : core::Result<core::ProcessReading>(process.error());
        if (!reading) return session::post_notice(*screen_, reading.error().what);
        auto shared = std::make_shared<core::ProcessReading>(std::move(*reading));
        screen_->post([shared](terminal::Shown &shown) { shown.top->take(*shared); });
    }

    /// Shows the live screen of one process. True: rsslag ends.
    bool live(pid_t pid) {
        host::Tracer::Options chosen;
        chosen.for_screen = true;
        chosen.dropped = true;  // by open(); the screen's thread exists by now
        chosen.stop_waiting = [this] { return is_over(); };
        auto tracer = host::Tracer::open(chosen);
        Status attached = tracer ? tracer->attach(pid) : Status(tracer.error());
        if (!attached) {
            session::post_notice(*screen_, fmt::format("cannot trace {}: {}", pid, attached.error().what));
            return false;
        }
        const view::ScreenFacts facts = session::screen_facts(tracer->facts(), interval_, true, true);
        screen_->post([facts, style = style_](terminal::Shown &shown) { shown.live.emplace(facts, style); });
        const bool quit = follow(*tracer);
        screen_->post([](terminal::Shown &shown) { shown.live.reset(); });
        return quit;
    }

    /// Runs until a key returns to the table (false), or rsslag ends (true).
    bool follow(host::Tracer &tracer) {
        auto next = Clock::now();
        for (;;) {
            if (Clock::now() >= next) {
                session::post_ticks(*screen_, tracer.tick());
                next = std::max(next + interval_, Clock::now());
            }
            const auto left = std::chrono::ceil<milliseconds>(next - Clock::now());
            if (stop_.wait(std::clamp(left, milliseconds{0}, kKeys))) return true;
            session::post_ticks(*screen_, tracer.collect());
            for (const view::Intent &intent : screen_->intents()) {
                if (std::holds_alternative<view::Quit>(intent)) return true;
                if (std::holds_alternative<view::Back>(intent)) return false;
                if (const auto *const walk = std::get_if<view::WalkNow>(&intent)) {
                    tracer.walk_now(walk->pid);
                    next = Clock::now();
                }
                if (const auto *const interval = std::get_if<view::SetInterval>(&intent)) {
                    interval_ = interval->interval;
                    next = std::min(next, Clock::now() + interval_);
                }
            }
        }
    }

    static constexpr milliseconds kKeys{50};  ///< interval between reads of the screen's intents

    const TopOptions &options_;
    view::TextStyle style_;
    std::optional<host::Snapshotter> snapshotter_;
    host::StopSignals &stop_;
    milliseconds interval_;
    host::OwnCostMeter meter_{1'000'000'000};  // averages the first pass over at least 1 s
    std::optional<terminal::Screen> screen_;
};

}  // namespace

Run add_top(CLI::App &app, const Common &common) {
    auto options = std::make_shared<TopOptions>();
    CLI::App *const top = app.add_subcommand("top", "All processes, by lag");
    top->add_flag("--once", options->once, "Print one table and exit");
    top->add_flag("--json", options->json, "Print JSON (rsslag.top/1), one line per table");
    top->add_option("--format", options->typed.format, "text, json or prometheus; prometheus requires --once")
        ->check(CLI::IsMember({"text", "json", "prometheus"}));
    top->add_option("-o,--output", options->output, "With --once: write to FILE, which is replaced atomically");
    top->add_option("--sort", options->typed.sort, "Sort by lag, exact, cached or name")
        ->check(CLI::IsMember({"lag", "exact", "cached", "name"}))
        ->capture_default_str();
    top->add_option("--rows", options->rows, "At most this many processes (0: all), or groups for prometheus (0: 100)")
        ->capture_default_str();
    top->add_option("--interval", options->typed.interval, "Time between tables: 500ms, 2s, 1m; at least 10ms")
        ->capture_default_str();
    return [options, &common] {
        if (!common.command.empty())
            return fail({Kind::BadInput, "top takes no -- CMD", 0, "use rsslag -- CMD to trace a command"});
        auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        if (const Status parsed = parse(*options); !parsed) return fail(parsed.error());
        if (options->prometheus) return print_metrics(*options);
        host::StopSignals stop;
        Top shown(*options, *style, stop);
        const bool tables = options->once || options->json || !terminal::Screen::possible();
        if (const Status opened = shown.open(); !opened) {
            if (!host::can_fall_back_to_proc(opened.error()) || !options->output.empty()) return fail(opened.error());
            constexpr std::size_t kOnATerminal = 20;
            const std::size_t rows = tables || options->rows > 0 ? options->rows : kOnATerminal;
            return sample_all({options->once, options->json, rows, options->sort, options->interval}, *style, stop,
                              opened.error());
        }
        return tables ? shown.print_tables() : shown.show();
    };
}

}  // namespace rsslag::cli
