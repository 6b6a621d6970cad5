// SPDX-License-Identifier: BSD-2-Clause
// rsslag report: summarizes a recording.
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/missing.h"
#include "analysis/row_source.h"
#include "claim_options.h"
#include "commands.h"
#include "core/text.h"
#include "exit_status.h"
#include "exporters/output_file.h"
#include "file_budget.h"
#include "report/flame_svg.h"
#include "report/report_builder.h"
#include "report/stacks.h"
#include "session/with_symbols.h"
#include "system/signals.h"
#include "terminal/output.h"
#include "terminal/rescue.h"
#include "terminal/style.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using core::Status;
using report::Report;

struct ReportOptions {
    std::string file;
    std::optional<std::string> other, svg, html, flame, symbols;
    bool json = false;
    bool all = false, stacks = false;
    std::string by = "function";
    bool force = false;
    ClaimOptions claims;
};

void print_missing(const std::string &path, const Report &report) {
    for (const exporters::MissingPart &missing : report.ending.missing)
        terminal::print_error(core::printable(path) + ": " +
                              analysis::missing_text(missing.reason, missing.from_ns, missing.to_ns, missing.records));
}

/// nullopt: the budget is spent.
core::Result<std::optional<Report>> report_of(const std::string &path, const ReportOptions &options,
                                              FileBudget &budget) {
    report::ReportBuilder builder;
    const auto named = session::with_symbols(builder, options.symbols, [&](std::uint64_t bytes) { budget.add(bytes); });
    if (!named) return named.error();
    const auto written = analysis::emit_rows(path, **named, [&](std::uint64_t work) { return budget.spent(work); });
    if (!written) return written.error();
    if (*written == analysis::Stopped::Yes) return std::optional<Report>();
    return std::optional(builder.take());
}

/// A further output file. All are opened before the recording is read, which may take long.
struct Picture {
    exporters::OutputFile file;
    std::string (*draw)(const Report &report, const Report *older);
};

core::Result<std::vector<Picture>> open_pictures(const ReportOptions &options) {
    std::vector<Picture> pictures;
    std::vector<std::string> inputs{options.file};
    if (options.other) inputs.push_back(*options.other);
    std::set<std::filesystem::path> names;
    using Draw = decltype(Picture::draw);
    const Draw svg = [](const Report &report, const Report * /*older*/) { return report_svg(report); };
    const Draw html = [](const Report &report, const Report * /*older*/) { return report_html(report); };
    const Draw flame = [](const Report &report, const Report *older) { return report::flame_svg(report, older); };
    for (const auto &[name, draw] :
         {std::pair(&options.svg, svg), std::pair(&options.html, html), std::pair(&options.flame, flame)}) {
        if (!*name) continue;
        auto opened = exporters::OutputFile::open(**name, options.force, inputs);
        if (!opened) return opened.error();
        std::error_code err;
        if (!opened->path().empty() && !names.insert(std::filesystem::weakly_canonical(**name, err)).second)
            return Error{Kind::BadInput, core::printable(**name) + " is named twice", 0,
                         "use a file for each of --svg, --html and --flame"};
        if (!opened->path().empty()) terminal::remove_at_death(opened->path());
        pictures.push_back({std::move(*opened), draw});
    }
    return pictures;
}

/// Nothing is printed before all recordings are read. So a signal may end rsslag at any time until then.
void end_at_stop(const ClaimOptions &claims) {
    if (claims.claims.empty()) return terminal::end_at_stop("", kDone);
    terminal::end_at_stop(terminal::error_text("no condition was checked: a signal stopped rsslag"), kDoesNotHold);
}

std::string text_of(const ReportOptions &options, const Report &report, const std::optional<Report> &other,
                    const report::ReportStyle &style) {
    if (options.stacks)
        return report::stacks_text(report.stacks, profile::by_of(options.by),
                                   options.all ? SIZE_MAX : report::kStackLines, report.facts.machine.page_size, style);
    return other ? diff_text(*other, report, style) : report_text(report, style);
}

Status show(const ReportOptions &options, const Report &report, const std::optional<Report> &other,
            const report::ReportStyle &style) {
    const auto print = [](std::string_view text) { return terminal::print(text); };
    if (!options.json) return print(text_of(options, report, other, style));
    return other ? print(diff_json(*other, report)) : report_json(report, print);
}

int check(const ReportOptions &options, const Report &report, int written) {
    const int checked = check_claims(report::evaluate(options.claims.claims, report), written);
    if (!options.claims.claims.empty() && report.processes.empty() && checked == kDone)
        return no_process(report.ending, "the recording contains no process");
    return checked;
}

int report(ReportOptions &options, const documents::TextStyle &text, FileBudget &budget) {
    if (const Status read = parse_claims(options.claims); !read) return fail(read.error());
    report::ReportStyle style;
    style.utf8 = text.utf8;
    style.pages = text.pages;
    if (options.all) style.processes = style.threads = SIZE_MAX;
    auto pictures = open_pictures(options);
    if (!pictures) return fail(pictures.error());
    end_at_stop(options.claims);
    auto report = report_of(options.file, options, budget);
    if (!report) return fail(report.error());
    core::Result<std::optional<Report>> other = std::optional<Report>();
    if (*report && options.other) {
        other = report_of(*options.other, options, budget);
        if (!other) return fail(other.error());
    }
    if (!*report || (options.other && !*other)) return kBadInput;
    if (*other) {  // a comparison does not show what is missing
        print_missing(*options.other, **other);
        print_missing(options.file, **report);
    }
    for (Picture &picture : *pictures)
        if (const Status drawn = picture.file.write(picture.draw(**report, *other ? &**other : nullptr)); !drawn)
            return fail(drawn.error());
    const system::StopSignals stop;  // from here on a signal only ends the wait for a reader
    const Status shown = show(options, **report, *other, style);
    budget.done();
    for (Picture &picture : *pictures)
        if (const Status placed = picture.file.commit(); !placed) return fail(placed.error());
    return check(options, **report, shown ? kDone : fail(shown.error()));
}

}  // namespace

Run add_report(CLI::App &app, const Common &common) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App *const command =
        app.add_subcommand("report", "Summarize a recording: lag, peaks, threads, flush reasons, losses");
    command->add_option("FILE", options->file, "A recording")->required();
    command->add_flag("--json", options->json,
                      "Print one JSON document: rsslag.report/2, with --diff rsslag.report-diff/2");
    add_claim_options(*command, options->claims);
    auto *const svg = command->add_option("--svg", options->svg, "Also draw stat, exact and cached over time in FILE");
    auto *const html = command->add_option("--html", options->html,
                                           "Also write a self-contained HTML page to FILE: charts, processes, growth");
    auto *const diff = command->add_option("--diff", options->other, "Compare with FILE, the older recording")
                           ->excludes(svg)
                           ->excludes(html);
    command->add_flag("--all", options->all, "List every process and thread, and with --stacks every line");
    auto *const stacks = command->add_flag("--stacks", options->stacks,
                                           "Show the code that added or released pages, if record had --stacks");
    command
        ->add_option("--by", options->by,
                     "With --stacks: function, file (of the source), module, thread, reason or kernel")
        ->capture_default_str()
        ->needs(stacks);
    command->add_option("--flame", options->flame, "Also draw, in FILE, a flame graph of the pages that came and went");
    command->add_option("--symbols", options->symbols,
                        "Look up functions that have no name in DIR/BUILD-ID/debuginfo and DIR/BUILD-ID/executable");
    command->add_flag("--force", options->force, "Let --svg, --html and --flame replace an existing file");
    diff->excludes(stacks);
    return [options, &common] {
        if (!common.command.empty()) return fail({Kind::BadInput, "report takes no -- CMD", 0, "name a recording"});
        const auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        std::vector<std::string> files{options->file};
        if (options->other) files.push_back(*options->other);
        FileBudget budget(std::move(files));
        return budget.run([&] { return report(*options, *style, budget); });
    };
}

}  // namespace rsslag::cli
