// SPDX-License-Identifier: BSD-2-Clause
// rsslag report: what a recording comes to.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "commands.h"
#include "exit_status.h"
#include "rsslag/host/signals.h"
#include "rsslag/report/report_builder.h"
#include "rsslag/sinks/output_file.h"
#include "rsslag/terminal/output.h"
#include "rsslag/terminal/style.h"
#include "rsslag/trace/row_source.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using core::Status;
using report::Report;

struct ReportOptions {
    std::string file;
    std::optional<std::string> other, svg;
    std::vector<std::string> assertions;  ///< as typed
    bool json = false;
    bool all = false;
    bool force = false;
    std::vector<report::Claim> claims;
};

/// Bad input is told before any file is opened.
Status read_claims(ReportOptions &options) {
    for (const std::string &text : options.assertions) {
        auto claims = report::parse_claims(text);
        if (!claims) return claims.error();
        for (report::Claim &claim : *claims)
            options.claims.push_back(std::move(claim));
    }
    return core::success();
}

/// nullopt: rsslag was told to stop.
core::Result<std::optional<Report>> report_of(const std::string &path) {
    report::ReportBuilder builder;
    host::StopSignals stop;
    const auto written = trace::emit_rows(path, builder, [&stop] { return stop.came(); });
    if (!written) return written.error();
    if (*written == trace::Stopped::Yes) return std::optional<Report>();
    return std::optional(builder.take());
}

Status draw(std::optional<sinks::OutputFile> &file, const Report &report) {
    if (!file) return core::success();
    if (Status written = file->write(report::report_svg(report)); !written) return written;
    return file->commit();
}

int check_claims(const ReportOptions &options, const Report &report) {
    int status = kDone;
    for (const report::ClaimResult &each : report::judge(options.claims, report)) {
        if (each.holds) continue;
        terminal::complain(fmt::format("'{}' does not hold: {}", each.claim.text, each.text));
        status = kDoesNotHold;
    }
    return status;
}

int show(const ReportOptions &options, const Report &report, const std::optional<Report> &other,
         const report::ReportStyle &style) {
    const std::string text = other ? options.json ? diff_json(*other, report) : diff_text(*other, report, style)
                             : options.json ? report_json(report)
                                            : report_text(report, style);
    const Status printed = terminal::print(text);
    const int written = printed ? kDone : fail(printed.error());
    return std::max(written, check_claims(options, report));
}

int report(ReportOptions &options, const view::TextStyle &text) {
    if (const Status read = read_claims(options); !read) return fail(read.error());
    report::ReportStyle style;
    style.utf8 = text.utf8;
    style.pages = text.pages;
    if (options.all) style.threads = SIZE_MAX;
    // Refused before a long recording is read for it.
    std::optional<sinks::OutputFile> svg;
    if (options.svg) {
        auto opened = sinks::OutputFile::open(*options.svg, options.force, options.file);
        if (!opened) return fail(opened.error());
        svg.emplace(std::move(*opened));
    }
    auto report = report_of(options.file);
    if (!report) return fail(report.error());
    core::Result<std::optional<Report>> other = std::optional<Report>();
    if (*report && options.other) {
        other = report_of(*options.other);
        if (!other) return fail(other.error());
    }
    if (!*report || (options.other && !*other)) return kDone;
    if (const Status drawn = draw(svg, **report); !drawn) return fail(drawn.error());
    return show(options, **report, *other, style);
}

}  // namespace

Run add_report(CLI::App &app, const Common &common) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App *const command = app.add_subcommand("report", "What a recording comes to: lag, who, why, what was lost");
    command->add_option("FILE", options->file, "A recording")->required();
    command->add_flag("--json", options->json, "rsslag.report/1, one document");
    command->add_option("--assert", options->assertions, "End with 1 unless it holds: peak_lag<1MiB and lost==0")
        ->allow_extra_args(false);
    auto *const svg =
        command->add_option("--svg", options->svg, "Also draw stat, exact and cached over time into FILE");
    command->add_option("--diff", options->other, "Compare with OTHER, the older recording")->excludes(svg);
    command->add_flag("--all", options->all, "List every thread");
    command->add_flag("--force", options->force, "Replace the file of --svg where it exists");
    return [options, &common] {
        if (!common.command.empty()) return fail({Kind::BadInput, "report takes no -- CMD", 0, "give a recording"});
        const auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        return report(*options, *style);
    };
}

}  // namespace rsslag::cli
