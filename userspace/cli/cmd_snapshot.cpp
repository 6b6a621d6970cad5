// SPDX-License-Identifier: BSD-2-Clause
// rsslag snapshot: one exact reading of each target.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "commands.h"
#include "core/duration.h"
#include "documents/proc.h"
#include "exit_status.h"
#include "system/command.h"
#include "system/proc_reader.h"
#include "system/signals.h"
#include "system/snapshotter.h"
#include "system/targets.h"
#include "terminal/output.h"
#include "terminal/style.h"

namespace rsslag::cli {
namespace {

struct SnapshotOptions {
    system::TargetArguments targets;
    bool json = false;
    bool no_walk = false;
    bool check = false;
    bool all = false;
    bool as_root = false;
    int repeat = 1;
    struct {
        std::string interval;
        std::string delay = "1s";
    } typed;
    std::chrono::milliseconds interval{};
    std::chrono::milliseconds delay{};
};

/// Called before the kernel is queried, so that bad input is reported first.
core::Status parse_timing(SnapshotOptions &options) {
    if (!options.typed.interval.empty()) {
        const auto interval = core::parse_interval(options.typed.interval);
        if (!interval) return interval.error();
        options.interval = *interval;
    }
    const auto delay = core::parse_duration(options.typed.delay);
    if (!delay) return delay.error();
    options.delay = *delay;
    return core::success();
}

/// A target that is read in each round: this process, even if its PID is reused. Its files are open from its first
/// reading until its last one. So for a single round a few descriptors are enough for any number of processes.
struct Opened {
    system::Target target;
    std::optional<procfs::Process> process{};
};

/// The state of the rounds so far, of one reader.
struct Progress {
    std::vector<Opened> targets;             ///< of this round
    std::vector<core::FailedTarget> failed;  ///< of this round
    std::vector<std::string> complaints;     ///< of this round: lines for stderr
    std::vector<core::FailedTarget> unread;  ///< of this round, not named by PID: they exist
    std::vector<core::FailedTarget> ended;   ///< of this round, not named by PID: they have ended
    std::vector<Opened> hidden;              ///< of this round: see hidden()
    std::optional<core::Error> why_hidden;   ///< of the first of them
    bool any_read = false;
    int failure = kDone;  ///< the highest exit status of a target that could not be read
    int status = kDone;

    /// A failure sets the exit status only if the target was given by its PID. Processes that match a pattern may end
    /// (`gone`), or may not be readable: neither is an error.
    void fail(const system::Target &target, const core::Error &error, bool gone) {
        failed.push_back({target.pid, error.remedy.empty() ? error.what : error.what + "; " + error.remedy});
        if (target.named) complaints.push_back(failed.back().reason);
        if (!target.named) (gone ? ended : unread).push_back(failed.back());
        failure = std::max(failure, exit_status(error.kind));
        if (target.named) status = std::max(status, exit_status(error.kind));
    }
};

bool holds(const core::ProcessReading &process) {
    const core::Verdict verdict = process.verdict.verdict;
    return verdict == core::Verdict::Agrees || verdict == core::Verdict::Explained;
}

/// Without BPF the walk of the page tables must confirm the exact value.
bool holds(const core::ProcReading &process) {
    return process.confirmed;
}

/// Whether a process has ended; also a zombie, for which readings fail in other ways.
bool is_gone(const std::optional<procfs::Process> &process, const core::Error &error) {
    if (error.kind == core::Kind::Gone) return true;
    if (!process) return false;
    const auto stat = process->stat();
    return stat && !procfs::has_memory(*process, *stat);
}

/// Whether this target was given by its PID, and has memory that BPF does not find: some kernels do not show their
/// first process to BPF. It is then read by /proc. Those that match a pattern are reported as not read.
bool hidden(const Opened &target, const core::Error &error) {
    return target.target.named && target.process && error.kind == core::Kind::Unsupported &&
           !system::why_unreadable(*target.process);
}

/// Opens the target before its first reading.
template <class Reader>
auto take(Reader &reader, Opened &target, bool walk) -> decltype(reader.take(*target.process, walk)) {
    if (!target.process) {
        auto opened = procfs::Process::open(target.target.pid);
        if (!opened) return opened.error();
        target.process.emplace(std::move(*opened));
    }
    return reader.take(*target.process, walk);
}

/// Reads each target; one that cannot be read is not tried again.
template <class Reader>
auto take_all(Reader &reader, Progress &progress, bool walk, bool last) {
    decltype(reader.document().processes) processes;
    std::vector<Opened> left;
    for (Opened &each : progress.targets) {
        Opened target = std::move(each);
        auto process = take(reader, target, walk);
        if (!process && std::is_same_v<Reader, system::Snapshotter> && hidden(target, process.error())) {
            if (!progress.why_hidden) progress.why_hidden = process.error();
            progress.hidden.push_back(std::move(target));
            continue;
        }
        if (!process) {
            progress.fail(target.target, process.error(), is_gone(target.process, process.error()));
            continue;
        }
        progress.any_read = true;
        processes.push_back(std::move(*process));
        if (!last) left.push_back(std::move(target));
    }
    progress.targets = std::move(left);
    return processes;
}

std::string json_of(const core::SnapshotDocument &document) {
    return documents::snapshot_json(document);
}
std::string json_of(const core::ProcDocument &document) {
    return documents::proc_json(document);
}
std::string text_of(const core::SnapshotDocument &document, const core::ProcessReading &process,
                    const documents::TextStyle &style) {
    return documents::snapshot_text(document, process, style);
}
std::string text_of(const core::ProcDocument &document, const core::ProcReading &process,
                    const documents::TextStyle &style) {
    return documents::proc_text(document, process, style);
}

template <class Document>
core::Status show(const Document &document, const SnapshotOptions &options, const documents::TextStyle &style) {
    if (options.json) return terminal::print(json_of(document));
    std::string text;
    for (const auto &process : document.processes) {
        if (!text.empty()) text += '\n';
        text += text_of(document, process, style);
    }
    return terminal::print(text);
}

/// Reads and shows all targets once. False if another round cannot show anything.
template <class Reader>
bool round(Reader &reader, Progress &progress, const SnapshotOptions &options, const documents::TextStyle &style,
           bool last) {
    auto processes = take_all(reader, progress, !options.no_walk, last);
    auto document = reader.document();
    document.processes = std::move(processes);
    document.failed = std::exchange(progress.failed, {});
    const auto ended = std::exchange(progress.ended, {});
    const auto unread = std::exchange(progress.unread, {});
    if (!unread.empty()) {
        progress.complaints.push_back(unread_text(unread));
    } else if (!progress.any_read && progress.complaints.empty() && !ended.empty()) {
        progress.complaints.push_back(unread_text(ended));
    }
    for (const std::string &line : std::exchange(progress.complaints, {}))
        terminal::print_error(line);
    if (document.processes.empty() && document.failed.empty()) return false;
    // The verdict of a process that could not be read is not known, so --check does not hold.
    if (options.check && (!unread.empty() || !std::all_of(document.processes.begin(), document.processes.end(),
                                                          [](const auto &process) { return holds(process); }))) {
        progress.status = std::max(progress.status, kDoesNotHold);
    }
    const core::Status shown = show(document, options, style);
    if (!shown) {
        progress.status = std::max(progress.status, fail(shown.error()));
        return false;
    }
    return !progress.targets.empty();
}

/// The targets that the other reader does not find, by /proc.
class HiddenTargets {
  public:
    void take(Progress &progress) {
        for (Opened &target : std::exchange(progress.hidden, {}))
            progress_.targets.push_back(std::move(target));
        if (progress_.targets.empty() || reader_) return;
        auto reader = system::ProcReader::open(*progress.why_hidden, {}, true);
        if (!reader) {
            progress_.status = fail(reader.error());
            progress_.targets.clear();
            return;
        }
        terminal::print_error(documents::proc_note(reader->document()));
        reader_.emplace(std::move(*reader));
    }

    bool round(const SnapshotOptions &options, const documents::TextStyle &style, bool last) {
        return reader_ && cli::round(*reader_, progress_, options, style, last);
    }

    const Progress &progress() const { return progress_; }

  private:
    Progress progress_;
    std::optional<system::ProcReader> reader_;
};

template <class Reader>
int rounds(Reader &reader, const std::vector<system::Target> &targets, const SnapshotOptions &options,
           const documents::TextStyle &style, system::StopSignals &stop) {
    Progress progress;
    for (const system::Target &target : targets)
        progress.targets.push_back({target});
    HiddenTargets others;
    for (int i = 0; i < options.repeat; ++i) {
        if (i > 0 && stop.wait(options.interval)) break;
        const bool last = i + 1 == options.repeat;
        const bool more = round(reader, progress, options, style, last);
        others.take(progress);
        if (!others.round(options, style, last) && !more) break;
    }
    const int status = std::max(progress.status, others.progress().status);
    if (progress.any_read || others.progress().any_read) return status;
    return std::max({status, progress.failure, others.progress().failure});
}

/// The fallback to /proc if BPF cannot be used (`why`).
int rounds_of_proc(const core::Error &why, const std::vector<system::Target> &targets, const SnapshotOptions &options,
                   const documents::TextStyle &style, system::StopSignals &stop) {
    auto reader =
        system::can_fall_back_to_proc(why) ? system::ProcReader::open(why) : core::Result<system::ProcReader>(why);
    if (!reader) return fail(reader.error());
    terminal::print_error(documents::proc_note(reader->document()));
    return rounds(*reader, targets, options, style, stop);
}

/// After a stop signal rsslag does not wait for a walk.
system::SnapshotterOptions stopped_by(system::StopSignals &stop) {
    system::SnapshotterOptions options;
    options.stop_waiting = [&stop] { return stop.stop_requested(); };
    return options;
}

int snapshot_targets(const SnapshotOptions &options, const documents::TextStyle &style) {
    if (options.targets.empty()) {
        return fail({core::Kind::BadInput, "no target given", 0,
                     "use a PID, -p, --comm, --cgroup, -u, or -- CMD; see rsslag snapshot --help"});
    }
    const auto targets = system::resolve(options.targets);
    if (!targets) return fail(targets.error());
    system::StopSignals stop;
    auto snapshotter = system::Snapshotter::open(stopped_by(stop));
    if (!snapshotter) return rounds_of_proc(snapshotter.error(), *targets, options, style, stop);
    return rounds(*snapshotter, *targets, options, style, stop);
}

/// Runs the command, reads it after --delay unless it has ended by then, and waits for its end.
int snapshot_command(const std::vector<std::string> &argv, const SnapshotOptions &options,
                     const documents::TextStyle &style) {
    if (!options.targets.empty()) {
        return fail({core::Kind::BadInput, "targets and -- CMD cannot be combined", 0, "remove the targets or -- CMD"});
    }
    auto command = system::Command::prepare(argv, options.as_root);
    if (!command) return fail(command.error()), kCommandFailed;
    system::StopSignals stop(2);  // the first INT is for the command
    auto snapshotter = system::Snapshotter::open(stopped_by(stop));
    if (!snapshotter && !system::can_fall_back_to_proc(snapshotter.error()))
        return fail(snapshotter.error()), kCommandFailed;
    const core::Status started = command->release();
    if (!started) return fail(started.error()), system::shell_status(started.error());
    if (const auto ended = command->wait(options.delay, stop)) {
        terminal::print_error(
            fmt::format("the command ended with status {} before the --delay of {} had passed; use a shorter --delay",
                        *ended, options.typed.delay));
        return options.check && *ended == kDone ? kDoesNotHold : *ended;
    }
    // After a stop signal, --check holds only if a reading has shown that.
    const int unread = options.check ? kDoesNotHold : kDone;
    const std::vector<system::Target> target{{command->pid(), true}};
    const auto read_it = [&] {
        return snapshotter ? rounds(*snapshotter, target, options, style, stop)
                           : rounds_of_proc(snapshotter.error(), target, options, style, stop);
    };
    const int read = stop.stop_requested() ? unread : read_it();
    const auto ended = stop.stop_requested() ? std::nullopt : command->wait(std::nullopt, stop);
    if (read == kDoesNotHold && options.check) return kDoesNotHold;
    if (!ended) return read == kDone ? kDone : unread;
    return read == kDone ? *ended : kCommandFailed;
}

}  // namespace

Run add_snapshot(CLI::App &app, const Common &common) {
    auto options = std::make_shared<SnapshotOptions>();
    CLI::App *const command =
        app.add_subcommand("snapshot", "Take one exact reading: the exact RSS, and why the reported RSS lags");
    add_target_options(*command, options->targets);
    command->add_flag("--json", options->json, "Print JSON (rsslag.snapshot/2), one document per line");
    command->add_flag("--no-walk", options->no_walk, "Never read smaps: counters only");
    command->add_flag("--check", options->check, "Exit with 1 unless every verdict is agrees or explained");
    command->add_flag("--all", options->all, "List every thread or CPU that caches");
    command->add_option("--repeat", options->repeat, "Take N readings");
    command->add_option("--interval", options->typed.interval, "Time between readings: 500ms, 2s, 1m; default: none");
    command->add_option("--delay", options->typed.delay, "With -- CMD: how long CMD runs before it is read")
        ->capture_default_str();
    command->add_flag("--as-root", options->as_root, "With -- CMD under sudo: run CMD as root");
    return [options, &common] {
        auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        const core::Status timing = parse_timing(*options);
        if (!timing) return fail(timing.error());
        if (options->all) style->cachers = static_cast<std::size_t>(-1);
        return common.command.empty() ? snapshot_targets(*options, *style)
                                      : snapshot_command(common.command, *options, *style);
    };
}

}  // namespace rsslag::cli
