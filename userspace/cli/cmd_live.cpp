// SPDX-License-Identifier: BSD-2-Clause
// rsslag live: traces every counter update of the targets.
#include <memory>

#include "claim_options.h"
#include "commands.h"
#include "trace_options.h"
#include "trace_runs.h"

namespace rsslag::cli {

Run add_live(CLI::App &app, const Common &common) {
    auto options = std::make_shared<session::TraceOptions>();
    auto claims = std::make_shared<ClaimOptions>();
    CLI::App *const live = app.add_subcommand("live", "Trace counter updates: cached and flushed RSS as they change");
    add_trace_options(*live, *options);
    CLI::Option *const format = live->add_option("--format", options->typed.format,
                                                 "lines, csv or jsonl; default: the screen on a terminal, else lines");
    live->add_flag(
            "--json", [options](std::int64_t) { options->typed.format = "jsonl"; }, "Same as --format jsonl")
        ->excludes(format);
    live->add_option("--threads", options->typed.threads, "Which threads to list: all, changed, top:N or none");
    live->add_option("--history", options->typed.history, "On the screen: how far back [ goes; at most 64 MiB are kept")
        ->capture_default_str();
    live->add_flag("!--no-mouse", options->mouse, "On the screen: leave clicks and the wheel to the terminal");
    live->add_flag("--events", options->events, "Also print a line for each record");
    live->add_option("--record", options->recording, "Also record the trace in FILE, for replay, report and export");
    add_stack_options(*live, *options);
    add_claim_options(*live, *claims);
    return [options, claims, &common] {
        options->sampled = claims->typed.empty() && options->typed.save_when.empty();
        return run_trace(common, *options, *claims);
    };
}

}  // namespace rsslag::cli
