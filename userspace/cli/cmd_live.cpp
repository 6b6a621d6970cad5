// SPDX-License-Identifier: BSD-2-Clause
// rsslag live: every counter update of its targets, as it happens.
#include <memory>

#include "commands.h"
#include "exit_status.h"
#include "rsslag/terminal/style.h"
#include "trace_options.h"
#include "trace_runs.h"
#include "version.h"

namespace rsslag::cli {

Run add_live(CLI::App &app, const Common &common) {
    auto options = std::make_shared<session::TraceOptions>();
    CLI::App *const live = app.add_subcommand("live", "Trace counter updates: cached and flushed RSS as they change");
    add_trace_options(*live, *options);
    live->add_option("--format", options->words.format, "lines, csv or jsonl; without it the screen on a terminal")
        ->check(CLI::IsMember({"lines", "csv", "jsonl"}));
    live->add_flag(
        "--json", [options](std::int64_t) { options->words.format = "jsonl"; }, "As --format jsonl");
    live->add_option("--threads", options->words.threads, "Which threads to list: all, changed, top:N or none");
    live->add_flag("--events", options->events, "A line for each record, too");
    live->add_option("--record", options->recording, "Record all of it in FILE, for rsslag replay");
    return [options, &common] {
        auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        if (const core::Status parsed = parse(*options); !parsed) return fail(parsed.error());
        options->command_line = common.words;
        options->version = version_text().substr(0, version_text().find(','));
        session::TickWriter writer(options->format, options->threads, *style);
        return common.command.empty() ? trace_targets(*options, writer)
                                      : trace_command(common.command, *options, writer);
    };
}

}  // namespace rsslag::cli
