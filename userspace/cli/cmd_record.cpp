// SPDX-License-Identifier: BSD-2-Clause
// rsslag record: a trace into a file, for replay, report and export.
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
    CLI::App *const record = app.add_subcommand("record", "Record a trace in a file, for rsslag replay");
    add_trace_options(*record, *options);
    record->add_option("-o,--output", options->recording, "The file, which must not be there yet");
    add_claim_options(*record, *claims);
    return [options, claims, &common] {
        if (options->recording.empty()) return fail({core::Kind::BadInput, "no file is named", 0, "name it: -o FILE"});
        return run_trace(common, *options, *claims);
    };
}

}  // namespace rsslag::cli
