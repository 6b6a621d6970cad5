// SPDX-License-Identifier: BSD-2-Clause
// rsslag record: writes a trace to a file, for replay, report and export.
#include <memory>

#include "claim_options.h"
#include "commands.h"
#include "exit_status.h"
#include "trace_options.h"
#include "trace_runs.h"

namespace rsslag::cli {

Run add_record(CLI::App &app, const Common &common) {
    auto options = std::make_shared<session::TraceOptions>();
    auto claims = std::make_shared<ClaimOptions>();
    options->format = session::Format::Progress;
    CLI::App *const record = app.add_subcommand("record", "Record a trace in a file, for replay, report and export");
    add_trace_options(*record, *options);
    record->add_option("-o,--output", options->recording,
                       "The file to write; it must not exist, unless --force is given");
    add_stack_options(*record, *options);
    add_claim_options(*record, *claims);
    return [options, claims, &common] {
        if (options->recording.empty()) return fail({core::Kind::BadInput, "no output file given", 0, "use -o FILE"});
        return run_trace(common, *options, *claims);
    };
}

}  // namespace rsslag::cli
