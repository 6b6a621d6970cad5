// SPDX-License-Identifier: BSD-2-Clause
// rsslag export: converts all records of a recording for other tools.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/row_source.h"
#include "commands.h"
#include "core/text.h"
#include "exit_status.h"
#include "exporters/output_file.h"
#include "exporters/sink.h"
#include "file_budget.h"
#include "profile/formats.h"
#include "session/missing_to_stderr.h"
#include "session/with_symbols.h"
#include "system/signals.h"
#include "terminal/output.h"
#include "terminal/rescue.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using core::Status;

struct ExportOptions {
    std::string file;
    std::optional<std::string> output, symbols;
    std::string format = "jsonl";
    bool rows_only = false;
    bool force = false;
};

Status check(const ExportOptions &options) {
    if (options.rows_only && options.format != "jsonl" && options.format != "csv")
        return Error{Kind::BadInput,
                     fmt::format("--rows-only does not apply to {}, which has no header line", options.format), 0,
                     "use it with jsonl or csv"};
    if (options.output) return core::success();
    if (options.format == "sqlite")
        return Error{Kind::BadInput, "cannot write a database to stdout", 0, "name a file with -o"};
    if ((options.format == "perfetto" || options.format == "pprof") && isatty(STDOUT_FILENO) == 1)
        return Error{Kind::BadInput, "cannot write binary data to a terminal", 0, "name a file with -o"};
    return core::success();
}

std::unique_ptr<exporters::Sink> sink_of(const ExportOptions &options, std::optional<exporters::OutputFile> &file,
                                         system::StopSignals &stop, FileBudget &budget) {
    const exporters::Write write = [&file, &options](std::string_view text) {
        if (!file) return terminal::print(text);
        return file->reader() < 0 ? file->write(text) : terminal::print_to(*options.output, text, file->reader());
    };
    const auto head = options.rows_only ? exporters::Head::No : exporters::Head::Yes;
    if (options.format == "csv") return session::missing_to_stderr(exporters::csv_sink(write, head));
    if (options.format == "sqlite")
        return exporters::sqlite_sink(file->path(), [&] { return stop.stop_requested() || budget.spent(0); });
    if (options.format == "perfetto")
        return session::missing_to_stderr(profile::with_perfetto_heaps(exporters::perfetto_sink(write), write));
    if (auto stacks = profile::sink(options.format, write)) return session::missing_to_stderr(std::move(stacks));
    return exporters::jsonl_sink(write, head);
}

int export_rows(const ExportOptions &options, FileBudget &budget) {
    if (const Status wrong = check(options); !wrong) return fail(wrong.error());
    std::optional<exporters::OutputFile> file;
    if (options.output) {
        auto opened = exporters::OutputFile::open(*options.output, options.force, {options.file});
        if (!opened) return fail(opened.error());
        file.emplace(std::move(*opened));
        if (options.format == "sqlite" && file->path().empty())
            return fail({Kind::BadInput, core::printable(*options.output) + " cannot hold a database", 0,
                         "name a regular file"});
        if (!file->path().empty()) terminal::remove_at_death(file->path());
    }
    system::StopSignals stop;
    const auto sink = sink_of(options, file, stop, budget);
    const auto named = session::with_symbols(*sink, options.symbols, [&](std::uint64_t bytes) { budget.add(bytes); });
    if (!named) return fail(named.error());
    const auto written = analysis::emit_rows(
        options.file, **named, [&](std::uint64_t work) { return stop.stop_requested() || budget.spent(work); });
    const bool unread = !written && written.error().err == ECANCELED;
    if (!written && !unread) return fail(written.error());
    budget.done();
    if (budget.was_spent()) return kBadInput;
    if (unread || *written == analysis::Stopped::Yes) {
        if (file) terminal::print_error(core::printable(*options.output) + " was not written: a signal stopped rsslag");
        return kDone;
    }
    if (!file) return kDone;
    const Status committed = file->commit();
    return committed ? kDone : fail(committed.error());
}

}  // namespace

Run add_export(CLI::App &app, const Common &common) {
    auto options = std::make_shared<ExportOptions>();
    CLI::App *const command = app.add_subcommand("export", "Convert all records of a recording for other tools");
    command->add_option("FILE", options->file, "A recording")->required();
    command
        ->add_option("--format", options->format, "jsonl, csv, sqlite, perfetto; of stacks: folded, pprof, speedscope")
        ->capture_default_str();
    command->add_option("-o,--output", options->output, "Write to FILE instead of stdout");
    command->add_option("--symbols", options->symbols, "Look up functions that have no name, as report --symbols does");
    command->add_flag("--rows-only", options->rows_only,
                      "jsonl, csv: omit the header line, to join the tables of many recordings");
    command->add_flag("--force", options->force, "Replace an existing FILE");
    return [options, &common] {
        if (!common.command.empty()) return fail({Kind::BadInput, "export takes no -- CMD", 0, "name a recording"});
        FileBudget budget({options->file});
        return budget.run([&] { return export_rows(*options, budget); });
    };
}

}  // namespace rsslag::cli
