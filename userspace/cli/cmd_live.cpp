// SPDX-License-Identifier: BSD-2-Clause
// rsslag live: every counter update of its targets, as it happens.
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "command.h"
#include "command_terminal.h"
#include "commands.h"
#include "duration.h"
#include "exit_status.h"
#include "live_view.h"
#include "output.h"
#include "rsslag/core/text.h"
#include "rsslag/procfs/process.h"
#include "rsslag/view/tick.h"
#include "screen.h"
#include "signals.h"
#include "style.h"
#include "targets.h"
#include "tracer.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using core::Status;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

enum class Format : std::uint8_t { Screen, Lines, Csv, Jsonl };

struct Options {
    TargetWords targets;
    bool follow = false;
    bool no_walk = false;
    bool no_wait = false;
    bool events = false;
    bool as_root = false;
    std::string mode = "events";
    struct {
        std::string interval = "1s";
        std::string duration;
        std::string format;  ///< empty: the screen where there can be one, else lines
        std::string threads;
        std::string ring = "2M";
    } words;  ///< as typed
    milliseconds interval{1000};
    std::optional<milliseconds> duration;
    Format format = Format::Lines;
    view::ThreadChoice threads;
    std::size_t ring_bytes = 0;
};

core::Result<std::size_t> parse_size(const std::string &word) {
    std::size_t number = 0;
    const char *const end = word.data() + word.size();
    const auto [rest, err] = std::from_chars(word.data(), end, number);
    const std::string unit(rest, end);
    const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : -1;
    if (err != std::errc{} || shift < 0 || number == 0) {
        return Error{Kind::BadInput, fmt::format("--ring {} is no size", core::printable(word)), 0, "write 512K or 8M"};
    }
    constexpr std::size_t kMost = std::size_t{1} << 30;
    if (number > kMost >> shift || number << shift < 4096) {
        return Error{Kind::BadInput, fmt::format("--ring {} is out of range", core::printable(word)), 0,
                     "each ring takes 4K to 1024M"};
    }
    return number << shift;
}

core::Result<view::ThreadChoice> parse_threads(const std::string &word) {
    using Which = view::ThreadChoice::Which;
    if (word == "all") return view::ThreadChoice{Which::All, 0};
    if (word == "changed") return view::ThreadChoice{Which::Changed, 0};
    if (word == "none") return view::ThreadChoice{Which::None, 0};
    std::size_t top = 0;
    const char *const end = word.data() + word.size();
    if (word.starts_with("top:")) {
        const auto [rest, err] = std::from_chars(word.data() + 4, end, top);
        if (err == std::errc{} && rest == end && top > 0) return view::ThreadChoice{Which::Top, top};
    }
    return Error{Kind::BadInput, fmt::format("--threads {} is not known", core::printable(word)), 0,
                 "it is all, changed, top:N or none"};
}

/// Bad input is told before anything is asked of the kernel.
Status parse(Options &options) {
    const auto interval = parse_interval(options.words.interval);
    if (!interval) return interval.error();
    options.interval = *interval;
    if (!options.words.duration.empty()) {
        const auto duration = parse_duration(options.words.duration);
        if (!duration) return duration.error();
        options.duration = *duration;
    }
    const std::string &format = options.words.format;
    const bool screen = format.empty() && !options.events && Screen::possible();
    options.format = format == "csv"     ? Format::Csv
                     : format == "jsonl" ? Format::Jsonl
                     : screen            ? Format::Screen
                                         : Format::Lines;
    // A script wants all that adds up; people want a line.
    const std::string fallback = options.format == Format::Jsonl ? "all" : "none";
    const auto threads = parse_threads(options.words.threads.empty() ? fallback : options.words.threads);
    if (!threads) return threads.error();
    options.threads = *threads;
    const auto ring = parse_size(options.words.ring);
    if (!ring) return ring.error();
    options.ring_bytes = *ring;
    if (options.events && options.mode == "counts") {
        return Error{Kind::BadInput, "--mode counts has no records to list", 0, "leave out --events or --mode counts"};
    }
    return core::success();
}

/// Writes what happens in the format that was asked for.
class Writer {
  public:
    Writer(const Options &options, view::TextStyle style)
        : format_(options.format),
          threads_(options.threads.which != view::ThreadChoice::Which::None),
          style_(std::move(style)) {}

    bool on_screen() const { return format_ == Format::Screen; }

    Status head(view::ScreenFacts facts) {
        if (on_screen()) {
            auto screen = Screen::open(style_.color);
            if (!screen) return screen.error();
            screen_.emplace(std::move(*screen));
            screen_->post(
                [facts = std::move(facts), style = style_](Shown &shown) { shown.live.emplace(facts, style); });
            return core::success();
        }
        if (format_ == Format::Csv) return print(view::csv_header());
        return format_ == Format::Lines ? print(view::line_header(style_)) : core::success();
    }

    /// The terminal is given back: what comes now is for its normal screen.
    void leave_screen() { screen_.reset(); }
    /// The screen while there is one, else null.
    Screen *screen() { return screen_ ? &*screen_ : nullptr; }

    Status ticks(std::vector<view::Tick> ticks) {
        std::string text = std::exchange(waiting_, {});
        told_ += ticks.size();
        if (screen_) return post_ticks(*screen_, std::move(ticks)), core::success();
        for (const view::Tick &tick : ticks) {
            switch (format_) {
                case Format::Jsonl: text += view::tick_json(tick); break;
                case Format::Csv: text += view::tick_csv(tick); break;
                case Format::Screen:
                case Format::Lines: text += view::tick_lines(tick, style_, threads_); break;
            }
        }
        return text.empty() ? core::success() : print(text);
    }

    void event(const view::EventLine &line) {
        if (format_ == Format::Csv) return;
        waiting_ += format_ == Format::Jsonl ? view::event_json(line) : view::event_text(line, style_);
    }
    void task(const view::TaskLine &line) {
        if (format_ == Format::Csv) return;
        waiting_ += format_ == Format::Jsonl ? view::task_json(line) : view::task_text(line, style_);
    }

    /// What came since the last tick, then the whole trace.
    Status summary(view::Summary summary) {
        if (Status rest = ticks({}); !rest) return rest;
        if (format_ == Format::Csv) return core::success();
        summary.ticks = told_;
        return print(format_ == Format::Jsonl ? view::summary_json(summary) : view::summary_text(summary, style_));
    }

  private:
    Format format_;
    bool threads_;
    view::TextStyle style_;
    std::optional<Screen> screen_;
    std::string waiting_;     ///< event lines since the last write
    std::uint64_t told_ = 0;  ///< ticks
};

bool has_pattern(const TargetWords &words) {
    return !words.comms.empty() || words.cgroup || words.user;
}

/// What can match more processes later: a number that was typed names one process, not whoever has it by then.
TargetWords patterns_of(const TargetWords &words) {
    TargetWords patterns = words;
    patterns.words.clear();
    patterns.pids.clear();
    return patterns;
}

class Session {
  public:
    Session(const Options &options, Writer &writer, StopSignals &stop)
        : options_(options), writer_(writer), stop_(stop), interval_(options.interval) {}

    Status open() {
        Tracer::Options wanted;
        wanted.ring_bytes = options_.ring_bytes;
        wanted.follow = options_.follow;
        wanted.counting = options_.mode == "counts";
        wanted.walk = !options_.no_walk;
        wanted.threads = options_.threads;
        wanted.for_screen = writer_.on_screen();
        if (options_.events) {
            wanted.on_update = [this](const view::EventLine &line) { writer_.event(line); };
            wanted.on_task = [this](const view::TaskLine &line) { writer_.task(line); };
        }
        auto tracer = Tracer::open(std::move(wanted));
        if (!tracer) return tracer.error();
        tracer_.emplace(std::move(*tracer));
        for (const std::string &hook : tracer_->missing())
            spdlog::info("tracing goes on without {}", hook);
        return core::success();
    }

    Tracer &tracer() { return *tracer_; }
    Status head() { return writer_.head(screen_facts(tracer_->facts(), interval_, !options_.no_walk, false)); }
    /// Called often while it runs.
    void on_idle(std::function<void(Screen *)> idle) { idle_ = std::move(idle); }

    /// Those that will match are found as they exec; what the kernel cannot look for, at the next tick.
    Status attach_matching() {
        const auto pattern = pattern_of(options_.targets);
        if (!pattern) return pattern.error();
        return *pattern ? tracer_->attach_matching(**pattern) : core::success();
    }

    /// Named ones must be there; patterns take what can be had.
    Status attach(const std::vector<Target> &targets) {
        for (const Target &target : targets) {
            if (tracer_->traces(target.pid)) continue;
            const Status attached = tracer_->attach(target.pid);
            if (attached) continue;
            if (target.named) {
                const auto process = procfs::Process::open(target.pid);
                return process ? why_unreadable(*process).value_or(attached.error()) : process.error();
            }
            spdlog::debug("{}: {}", target.pid, attached.error().what);
        }
        return core::success();
    }

    /// Until the targets have gone, rsslag is told to stop or its time is over.
    Status run(bool wait_for_targets) {
        const auto begin = Clock::now();
        auto next = begin;
        bool over = false;
        while (!over) {
            const auto now = Clock::now();
            time_is_over_ = options_.duration && now - begin >= *options_.duration;
            if (time_is_over_) break;
            if (now >= next) {
                if (Status done = one_tick(wait_for_targets); !done) return done;
                // Late ticks are not made up for.
                next = std::max(next + interval_, Clock::now());
                wait_for_targets = wait_for_targets && !tracer_->any();
            }
            over = stop_.wait(pause(begin, next));
            if (Status done = writer_.ticks(tracer_->collect()); !done) return done;
            if (idle_) idle_(writer_.screen());
            if (writer_.on_screen()) {
                over = over || obey(next);
            } else if (!tracer_->any() && !wait_for_targets) {
                return core::success();
            }
        }
        if (Status done = writer_.ticks(tracer_->tick()); !done) return done;
        return writer_.ticks(tracer_->collect());  // of what ended while the others were read
    }

    bool time_is_over() const { return time_is_over_; }

    void leave_screen() { writer_.leave_screen(); }

    Status summary() {
        if (Status done = writer_.ticks(tracer_->stop()); !done) return done;
        return writer_.summary(tracer_->summary());
    }

  private:
    /// What keys asked for; whether that is the end.
    bool obey(Clock::time_point &next) {
        for (const view::Intent &intent : writer_.screen()->intents()) {
            if (std::holds_alternative<view::Quit>(intent)) return true;
            if (const auto *const walk = std::get_if<view::WalkNow>(&intent)) {
                tracer_->walk_now(walk->pid);
                next = Clock::now();
            }
            if (const auto *const interval = std::get_if<view::SetInterval>(&intent)) {
                interval_ = interval->interval;
                next = std::min(next, Clock::now() + interval_);
            }
        }
        return false;
    }

    Status one_tick(bool wait_for_targets) {
        if (wait_for_targets || (has_pattern(options_.targets) && tracer_->any())) look_for_targets();
        return writer_.ticks(tracer_->tick());
    }

    void look_for_targets() {
        const auto targets = resolve(patterns_of(options_.targets));
        if (!targets) return;  // nothing that matches, as yet
        if (const Status attached = attach(*targets); !attached) spdlog::debug("{}", attached.error().what);
    }

    /// Records are taken in often enough that few wait.
    milliseconds pause(Clock::time_point begin, Clock::time_point next) const {
        constexpr milliseconds kAtMost{50};
        auto until = next;
        if (options_.duration) until = std::min(until, begin + *options_.duration);
        const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
        return std::clamp(left, milliseconds{0}, kAtMost);
    }

    const Options &options_;
    Writer &writer_;
    StopSignals &stop_;
    std::optional<Tracer> tracer_;
    std::function<void(Screen *)> idle_;
    milliseconds interval_;
    bool time_is_over_ = false;
};

int finish(Session &session, const Status &ran, int status) {
    session.leave_screen();
    if (!ran) return fail(ran.error());
    const Status told = session.summary();
    return told ? status : fail(told.error());
}

int live_targets(const Options &options, Writer &writer) {
    if (options.targets.empty()) {
        return fail({Kind::BadInput, "no process is named", 0, "name one: rsslag live -p PID, or -- CMD"});
    }
    auto targets = resolve(options.targets);
    const bool none = !targets && targets.error().kind == Kind::Gone && has_pattern(options.targets);
    if (!targets && (!none || options.no_wait)) return fail(targets.error());
    StopSignals stop;
    if (writer.on_screen()) Screen::block_signals();
    Session session(options, writer, stop);
    if (const Status opened = session.open(); !opened) return fail(opened.error());
    if (const Status matching = session.attach_matching(); !matching) return fail(matching.error());
    if (none && !writer.on_screen()) complain("nothing matches yet; waiting for a process that does");
    if (!none) {
        if (const Status attached = session.attach(*targets); !attached) return fail(attached.error());
    }
    if (const Status begun = session.head(); !begun) return fail(begun.error());
    if (none && writer.screen() != nullptr) post_notice(*writer.screen(), "nothing matches yet");
    return finish(session, session.run(none), kDone);
}

/// CMD under the screen: what it writes, what is typed for it and how it ended.
class CommandView {
  public:
    CommandView(Command &command, CommandTerminal &terminal, StopSignals &stop, std::string name)
        : command_(command), terminal_(terminal), stop_(stop), name_(std::move(name)) {}

    void look(Screen *screen) {
        if (stop_.interrupted()) terminal_.type("\x03");
        const bool ended = !status_ && (status_ = command_.wait(milliseconds{}, stop_));
        if (screen == nullptr) return;
        if (!told_) screen->on_typed([this](const std::string &bytes) { terminal_.type(bytes); });
        auto news = terminal_.news();
        if (news) last_ = std::move(*news);
        if (!news && !ended && told_) return;
        told_ = true;
        last_.name = name_;
        last_.running = !status_;
        last_.status = status_;
        screen->post([output = last_](Shown &shown) {
            if (shown.live) shown.live->take(output);
        });
    }
    std::optional<int> status() const { return status_; }

  private:
    Command &command_;
    CommandTerminal &terminal_;
    StopSignals &stop_;
    std::string name_;
    view::CommandOutput last_;
    std::optional<int> status_;
    bool told_ = false;
};

/// How it ended; one that still runs loses its terminal and is waited for a moment.
int end_of(Command &command, CommandTerminal &terminal, StopSignals &stop, std::optional<int> status) {
    constexpr milliseconds kPatience{2000};
    terminal.hang_up();
    if (!status) status = command.wait(kPatience, stop);
    complain(fmt::format("what the command wrote is in {}", terminal.file()));
    return status.value_or(kDone);
}

/// Under the screen CMD has a terminal of its own.
Status lend_terminal(const Options &options, const Writer &writer, std::optional<CommandTerminal> &terminal) {
    if (!writer.on_screen()) return core::success();
    auto opened = CommandTerminal::open();
    if (!opened) return opened.error();
    terminal.emplace(std::move(*opened));
    if (options.as_root) return core::success();
    const auto user = invoking_user();
    if (user && *user) terminal->give_file_to((*user)->uid, (*user)->gid);
    return core::success();
}

int live_command(const std::vector<std::string> &argv, const Options &options, Writer &writer) {
    if (!options.targets.empty()) return fail({Kind::BadInput, "targets and -- CMD exclude each other", 0, ""});
    std::optional<CommandTerminal> terminal;
    if (const Status lent = lend_terminal(options, writer, terminal); !lent) return fail(lent.error()), kCommandFailed;
    auto command = Command::prepare(argv, options.as_root, terminal ? terminal->command_side() : -1);
    if (!command) return fail(command.error()), kCommandFailed;
    StopSignals stop(2);  // the first INT is the command's
    if (terminal) {
        Screen::block_signals();
        terminal->start();
    }
    Session session(options, writer, stop);
    Status ready = session.open();
    if (ready) ready = session.tracer().attach_at_exec(command->pid());
    if (!ready) return fail(ready.error()), kCommandFailed;
    const Status started = command->release();
    if (!started) return fail(started.error()), shell_status(started.error());
    if (ready = session.head(); !ready) return fail(ready.error()), kCommandFailed;
    std::optional<CommandView> view;
    if (terminal) {
        view.emplace(*command, *terminal, stop, argv.front());
        session.on_idle([&view](Screen *screen) { view->look(screen); });
    }
    const Status ran = session.run(false);
    const int told = finish(session, ran, kDone);
    if (told != kDone) return kCommandFailed;
    const bool time_is_over = session.time_is_over() && !(view && view->status());
    if (time_is_over) {
        if (const Status ended = command->terminate(); !ended) complain(ended.error().what);
    }
    if (terminal) {
        const int status = end_of(*command, *terminal, stop, view->status());
        return time_is_over ? kDone : status;
    }
    if (time_is_over || stop.came()) return kDone;
    return command->wait(std::nullopt, stop).value_or(kDone);
}

}  // namespace

Run add_live(CLI::App &app, const Common &common) {
    auto options = std::make_shared<Options>();
    CLI::App *const live = app.add_subcommand("live", "Trace counter updates: cached and flushed RSS as they change");
    add_target_options(*live, options->targets);
    live->add_flag("--follow", options->follow, "Trace children, too");
    live->add_option("--interval", options->words.interval, "Between ticks: 500ms, 2s, 1m; at least 10ms")
        ->capture_default_str();
    live->add_option("--duration", options->words.duration, "End after this time; a command is ended with TERM");
    live->add_option("--format", options->words.format, "lines, csv or jsonl; without it the screen on a terminal")
        ->check(CLI::IsMember({"lines", "csv", "jsonl"}));
    live->add_flag(
        "--json", [options](std::int64_t) { options->words.format = "jsonl"; }, "As --format jsonl");
    live->add_option("--threads", options->words.threads, "Which threads to list: all, changed, top:N or none");
    live->add_option("--mode", options->mode,
                     "events: every update is told; counts: the kernel sums them up, at less cost")
        ->check(CLI::IsMember({"events", "counts"}))
        ->capture_default_str();
    live->add_flag("--events", options->events, "A line for each record, too");
    live->add_flag("--no-walk", options->no_walk, "Never touch smaps");
    live->add_flag("--no-wait", options->no_wait, "End with 3 where nothing matches yet");
    live->add_option("--ring", options->words.ring, "Size of each ring buffer: 512K, 8M")->capture_default_str();
    live->add_flag("--as-root", options->as_root, "With -- CMD under sudo: run it as root");
    return [options, &common] {
        auto style = text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        if (const Status parsed = parse(*options); !parsed) return fail(parsed.error());
        Writer writer(*options, *style);
        return common.command.empty() ? live_targets(*options, writer) : live_command(common.command, *options, writer);
    };
}

}  // namespace rsslag::cli
