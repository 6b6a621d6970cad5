// SPDX-License-Identifier: BSD-2-Clause
// rsslag record: a trace into a file, for replay, report and export.
#include <memory>

#include "commands.h"
#include "exit_status.h"
#include "rsslag/terminal/style.h"
#include "trace_options.h"
#include "trace_runs.h"
#include "version.h"

namespace rsslag::cli {

Run add_record(CLI::App &app, const Common &common) {
    auto options = std::make_shared<session::TraceOptions>();
    options->format = session::Format::Progress;
    CLI::App *const record = app.add_subcommand("record", "Record a trace in a file, for rsslag replay");
    add_trace_options(*record, *options);
    record->add_option("-o,--output", options->recording, "The file, which must not be there yet");
    return [options, &common] {
        auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        if (const core::Status parsed = parse(*options); !parsed) return fail(parsed.error());
        if (options->recording.empty()) return fail({core::Kind::BadInput, "no file is named", 0, "name it: -o FILE"});
        options->command_line = common.words;
        options->version = version_text().substr(0, version_text().find(','));
        session::TickWriter writer(options->format, options->threads, *style);
        return common.command.empty() ? trace_targets(*options, writer)
                                      : trace_command(common.command, *options, writer);
    };
}

}  // namespace rsslag::cli
