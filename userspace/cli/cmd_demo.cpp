// SPDX-License-Identifier: BSD-2-Clause
// rsslag demo: built-in workloads that lag.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "core/duration.h"
#include "core/text.h"
#include "documents/proc.h"
#include "exit_status.h"
#include "system/nearest.h"
#include "system/privileges.h"
#include "system/proc_reader.h"
#include "system/snapshotter.h"
#include "terminal/output.h"
#include "terminal/style.h"
#include "workload/held.h"
#include "workload/hold.h"
#include "workload/workload.h"

namespace rsslag::cli {
namespace {

using core::Kind;

struct DemoOptions {
    std::string name;
    workload::Options workload;
    bool list = false;
    bool hold = false;
    std::optional<pid_t> parent;
    struct {
        std::string over;
        std::string time;
    } typed;
    std::optional<std::chrono::milliseconds> time;  ///< --for
    bool json = false;
};

int list_workloads() {
    std::string text;
    for (const workload::Workload &each : workload::all())
        text += fmt::format("{:<20} {}\n", each.name, each.summary);
    return print(text);
}

/// --hold and --for.
int hold(const workload::Workload &workload, const DemoOptions &options) {
    // Root keeps its capabilities, as per-cpu may need them (a file in a ramfs); other users drop those that the file
    // granted.
    if (geteuid() != 0) {
        const core::Status dropped = system::keep_only({});
        if (!dropped) return fail(dropped.error());
    }
    const core::Status held = workload::hold(workload, options.workload, {options.parent, options.time});
    return held ? kDone : fail(held.error());
}

std::vector<std::string> hold_arguments(const DemoOptions &options) {
    std::vector<std::string> arguments{"rsslag", "demo", options.name, "--hold"};
    if (options.workload.threads)
        arguments.insert(arguments.end(), {"--threads", std::to_string(*options.workload.threads)});
    if (options.workload.kb) arguments.insert(arguments.end(), {"--kb", std::to_string(*options.workload.kb)});
    arguments.insert(arguments.end(), {"--parent", std::to_string(getpid())});
    if (!options.typed.over.empty()) arguments.insert(arguments.end(), {"--over", options.typed.over});
    return arguments;
}

core::Status parse_times(DemoOptions &options) {
    if (!options.typed.over.empty()) {
        const auto over = core::parse_duration(options.typed.over);
        if (!over) return over.error();
        options.workload.over = *over;
    }
    if (!options.typed.time.empty()) {
        const auto time = core::parse_duration(options.typed.time);
        if (!time) return time.error();
        options.time = *time;
    }
    return core::success();
}

/// The workload that lags most under this kernel's scheme; classic if the scheme is unknown.
std::string_view default_workload() {
    const auto scheme = system::running_scheme();
    return scheme && core::cpus_cache(*scheme) ? "per-cpu" : "classic";
}

std::string shown(const core::SnapshotDocument &document, bool json, const documents::TextStyle &style) {
    return json ? documents::snapshot_json(document)
                : documents::snapshot_text(document, document.processes.front(), style);
}
std::string shown(const core::ProcDocument &document, bool json, const documents::TextStyle &style) {
    return json ? documents::proc_json(document) : documents::proc_text(document, document.processes.front(), style);
}

/// Starts the workload in its own process, reads it once it is quiescent, and ends it.
template <class Reader>
int demonstrate(Reader &reader, const DemoOptions &options, const documents::TextStyle &style) {
    auto held = workload::Held::start(hold_arguments(options));
    if (!held) return fail(held.error());
    const auto ready = held->await_ready();
    if (!ready) return fail(ready.error());
    if (!*ready) return held->end(0).value_or(kNotAllowed);
    if (const core::Status rest = workload::await_rest(held->pid()); !rest) return fail(rest.error());
    const auto target = procfs::Process::open(held->pid());
    if (!target) return fail(target.error());
    auto process = reader.take(*target, true);
    if (!process) return fail(process.error());
    auto document = reader.document();
    document.processes.push_back(std::move(*process));
    return print(shown(document, options.json, style));
}

int demonstrate(const DemoOptions &options, const documents::TextStyle &style) {
    auto snapshotter = system::Snapshotter::open();
    if (snapshotter) return demonstrate(*snapshotter, options, style);
    const core::Error &why = snapshotter.error();
    auto reader =
        system::can_fall_back_to_proc(why) ? system::ProcReader::open(why) : core::Result<system::ProcReader>(why);
    if (!reader) return fail(reader.error());
    terminal::print_error(documents::proc_note(reader->document()));
    return demonstrate(*reader, options, style);
}

}  // namespace

Run add_demo(CLI::App &app, const Common &common) {
    auto options = std::make_shared<DemoOptions>();
    CLI::App *const command = app.add_subcommand("demo", "Run built-in workloads that lag");
    command->add_option("NAME", options->name,
                        "The workload; default: the one that lags most under this kernel's scheme");
    command->add_flag("--list", options->list, "List all workloads");
    command->add_option("--threads", options->workload.threads, "Number of threads");
    command->add_option("--kb", options->workload.kb, "kB that each thread (or the process) touches");
    command->add_flag("--hold", options->hold, "Only start the workload, print 'ready PID' and its facts, and wait");
    command->add_option("--over", options->typed.over,
                        "Spread the build-up over this time (classic, few-pages, per-cpu)");
    command->add_option("--parent", options->parent, "With --hold: end with this process")->group("");
    command->add_option("--for", options->typed.time, "Like --hold, but print nothing and end after this time");
    command->add_flag("--json", options->json, "Print the snapshot as JSON (rsslag.snapshot/2)");
    return [options, &common] {
        if (!common.command.empty()) return fail({Kind::BadInput, "demo takes no -- CMD", 0, "remove -- CMD"});
        if (options->list) return list_workloads();
        if (const core::Status parsed = parse_times(*options); !parsed) return fail(parsed.error());
        const auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        if (options->name.empty()) options->name = default_workload();
        const std::string_view name = options->name;
        const workload::Workload *const workload = workload::find(name);
        if (workload == nullptr) {
            std::vector<std::string> names;
            for (const workload::Workload &each : workload::all())
                names.emplace_back(each.name);
            const auto meant = system::nearest(name, names);
            return fail(
                {Kind::BadInput, fmt::format("no such workload: '{}'", core::printable(name)), 0,
                 meant ? fmt::format("did you mean {}?", *meant) : "run rsslag demo --list to list all workloads"});
        }
        return options->hold || options->time ? hold(*workload, *options) : demonstrate(*options, *style);
    };
}

}  // namespace rsslag::cli
