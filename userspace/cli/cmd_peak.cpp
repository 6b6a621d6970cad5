// SPDX-License-Identifier: BSD-2-Clause
// rsslag peak: the exact peak RSS of a command.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "claim_options.h"
#include "command_line.h"
#include "commands.h"
#include "core/text.h"
#include "exit_status.h"
#include "report/peak.h"
#include "system/invoking_user.h"
#include "terminal/output.h"
#include "terminal/style.h"
#include "trace_options.h"
#include "trace_runs.h"

namespace rsslag::cli {
namespace {

struct PeakOptions {
    session::TraceOptions trace;
    ClaimOptions claims;
    std::string output;
    bool json = false;
    bool tree = false;
};

/// The file was opened before the trace dropped its privileges.
core::Status write_to(core::Fd &file, const std::string &path, const std::string &text) {
    if (!file.open()) return terminal::print(text, STDERR_FILENO);
    std::string_view rest = text;
    int err = core::write_all(file.get(), rest);
    if (err == 0) err = file.close();
    return err == 0 ? core::success() : terminal::cannot_write(path, err);
}

int peak(const std::vector<std::string> &argv, PeakOptions &options, const documents::TextStyle &text) {
    core::Fd file;
    if (!options.output.empty()) {
        auto opened = system::create_as_invoking_user(options.output);
        if (!opened) return fail(opened.error()), kCommandFailed;
        file = std::move(*opened);
        // What it holds is of another run, also if this one fails.
        if (struct stat about{};
            fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode) && ftruncate(file.get(), 0) != 0)
            return fail(terminal::cannot_write(options.output, errno)), kCommandFailed;
    }
    session::TickWriter writer(options.trace.format, options.trace.threads, text);
    CommandEnd end;
    int status = trace_command(argv, options.trace, writer, &end);
    if (end.cut_off) terminal::print_error("the command was not traced to its end: a signal stopped rsslag");
    if (!writer.summary() || (!end.status && !end.cut_off)) return status;
    if (end.cut_off && status == kDone) status = options.claims.claims.empty() ? kCommandFailed : kDoesNotHold;
    report::PeakReport report{argv, end.pid, end.status, end.signal, end.max_rss_kb, *writer.summary(), {}};
    report::Report figures = report::report_of(report.summary, true);
    if (end.cut_off) {
        figures.cut_off = report.summary.all.lossy = true;
        for (core::Summary::Process &process : report.summary.processes)
            process.extremes.lossy = true;
    }
    report.claims = report::evaluate(options.claims.claims, figures);
    report::ReportStyle style;
    style.utf8 = text.utf8;
    style.pages = text.pages;
    const std::string shown = options.json ? report::peak_json(report) : report::peak_text(report, style, options.tree);
    if (!options.json || file.open()) {
        if (const core::Status written = write_to(file, options.output, shown); !written)
            return fail(written.error()), kCommandFailed;
        return check_claims(report.claims, status);
    }
    // The JSON document must be the last line of stderr.
    const int checked = check_claims(report.claims, status);
    const core::Status written = write_to(file, options.output, shown);
    return written ? checked : (fail(written.error()), kCommandFailed);
}

}  // namespace

Run add_peak(CLI::App &app, const Common &common) {
    auto options = std::make_shared<PeakOptions>();
    options->trace.format = session::Format::Silent;
    options->trace.follow = true;
    options->trace.no_walk = true;
    options->trace.typed.interval = "1s";
    CLI::App *const command = app.add_subcommand("peak", "Run a command and print its exact peak RSS");
    command->add_flag("--json", options->json, "Print JSON (rsslag.peak/1), as the last line");
    command->add_flag("--tree", options->tree, "Also list each process");
    command->add_option("-o,--output", options->output, "Write to FILE instead of stderr")->check(path);
    add_buffer_options(*command, options->trace);
    command->add_option("--mode", options->trace.mode, "events, or counts: less cost, but peaks are ranges");
    command->add_flag("--as-root", options->trace.as_root, "Under sudo: run CMD as root");
    add_claim_options(*command, options->claims);
    return [options, &common] {
        auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        if (common.command.empty())
            return fail({core::Kind::BadInput, "no command given", 0, "use rsslag peak -- CMD"});
        if (const core::Status parsed = parse_claims(options->claims); !parsed) return fail(parsed.error());
        if (const core::Status parsed = parse(options->trace); !parsed) return fail(parsed.error());
        return peak(common.command, *options, *style);
    };
}

}  // namespace rsslag::cli
