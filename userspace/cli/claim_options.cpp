// SPDX-License-Identifier: BSD-2-Clause
#include "claim_options.h"

#include <fmt/format.h>

#include <utility>

#include "exit_status.h"
#include "report/peak.h"
#include "terminal/output.h"

namespace rsslag::cli {

void add_claim_options(CLI::App &command, ClaimOptions &options) {
    command
        .add_option("--assert", options.typed,
                    "Exit with 1 if this condition does not hold: 'peak_rss<100MiB and lost==0'")
        ->allow_extra_args(false);
}

core::Status parse_claims(ClaimOptions &options) {
    for (const std::string &text : options.typed) {
        auto claims = report::parse_claims(text);
        if (!claims) return claims.error();
        for (core::Assertion &claim : *claims)
            options.claims.push_back(std::move(claim));
    }
    return core::success();
}

int check_claims(const std::vector<report::ClaimResult> &results, int status) {
    for (const report::ClaimResult &each : results) {
        if (each.holds) continue;
        terminal::print_error(fmt::format("'{}' does not hold: {}", each.claim.text, each.text));
        if (status == kDone) status = kDoesNotHold;
    }
    return status;
}

int no_process(const core::Totals &totals, const char *what) {
    const std::string missed = core::missed_text(totals);
    return fail({core::Kind::Gone, missed.empty() ? what : "no process was traced: " + missed, 0, ""});
}

int check_claims(const ClaimOptions &options, const session::TickWriter &writer, bool ends, bool follow, int status) {
    if (!writer.summary()) return status;
    if (writer.summary()->processes.empty() && status == kDone && (ends || !options.claims.empty()))
        return no_process(*writer.summary(), "no process matched");
    if (options.claims.empty()) return status;
    return check_claims(report::evaluate(options.claims, report::report_of(*writer.summary(), follow)), status);
}

}  // namespace rsslag::cli
