// SPDX-License-Identifier: BSD-2-Clause
// rsslag top: all processes by lag. Each table is one pass of a BPF task iterator.
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "command_line.h"
#include "commands.h"
#include "core/duration.h"
#include "exit_status.h"
#include "exporters/output_file.h"
#include "proc_runs.h"
#include "session/metrics_reader.h"
#include "session/top_session.h"
#include "system/file_rights.h"
#include "system/privileges.h"
#include "system/proc_reader.h"
#include "system/signals.h"
#include "terminal/output.h"
#include "terminal/screen.h"
#include "terminal/style.h"
#include "version.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using core::Status;
using std::chrono::milliseconds;

struct TopOptions {
    bool once = false;
    bool json = false;
    bool prometheus = false;
    bool mouse = true;
    std::string output;  ///< a file, replaced atomically
    std::optional<system::FileIds> writer;
    std::size_t rows = 0;  ///< 0: all
    struct {
        std::string interval = "1s";
        std::string sort = "lag";
        std::string format;
        std::string by;
    } typed;
    milliseconds interval{1000};
    documents::TopSort sort = documents::TopSort::Lag;
    metrics::By by = metrics::By::Comm;
};

Status parse(TopOptions &options) {
    const auto interval = core::parse_interval(options.typed.interval);
    if (!interval) return interval.error();
    options.interval = *interval;
    for (const documents::TopSort sort :
         {documents::TopSort::Lag, documents::TopSort::Exact, documents::TopSort::Cached, documents::TopSort::Name}) {
        if (options.typed.sort == documents::name(sort)) options.sort = sort;
    }
    options.json = options.json || options.typed.format == "json";
    options.prometheus = options.typed.format == "prometheus";
    if (options.prometheus && !options.once)
        return Error{Kind::BadInput, "--format prometheus requires --once", 0, "add --once, or use rsslag serve"};
    if (!options.prometheus && !options.typed.by.empty())
        return Error{Kind::BadInput, "--by requires --format prometheus", 0, "add --format prometheus"};
    options.by = metrics::by_named(options.typed.by).value_or(options.by);
    if (!options.output.empty() && !options.once) return Error{Kind::BadInput, "-o requires --once", 0, "add --once"};
    return core::success();
}

/// Reading all processes drops the capability to write into the directory of another user.
Status prepare_output(TopOptions &options) {
    if (options.output.empty()) return core::success();
    const auto ids = system::ids_to_write(exporters::resolved(options.output));
    if (!ids) return ids.error();
    options.writer = *ids;
    return *ids ? system::set_saved_ids((*ids)->uid, (*ids)->gid) : core::success();
}

/// A file is replaced atomically, so that a concurrent reader gets the old one. Other users may read it, as a metrics
/// collector does not run as root.
Status write_out(const std::string &text, const TopOptions &options) {
    if (options.output.empty()) return terminal::print(text);
    const system::FileAccess access(options.writer);
    auto file = exporters::OutputFile::open(options.output, true);
    if (!file) return file.error();
    if (Status shared = file->share(); !shared) return shared;
    if (Status written = file->write(text); !written) return written;
    return file->commit();
}

/// Prints the text that `rsslag serve` serves, for node_exporter's textfile collector.
int print_metrics(const TopOptions &options) {
    auto reader = session::MetricsReader::open({.by = options.by,
                                                .most = options.rows == 0 ? session::kMostGroups : options.rows,
                                                .version = short_version(),
                                                .or_proc = true});
    if (!reader) return fail(reader.error());
    const auto exposition = reader->read();
    if (!exposition) return fail(exposition.error());
    if (const std::string note = reader->note(); !note.empty()) terminal::print_error(note);
    const Status written = write_out(metrics::text(*exposition, metrics::Format::Prometheus), options);
    return written ? kDone : fail(written.error());
}

/// Prints tables until a signal stops rsslag, or one with --once.
Status print_tables(session::TopSession &top, const TopOptions &options, const documents::TextStyle &style,
                    system::StopSignals &stop) {
    do {
        auto table = top.read(options.json);
        if (!table) return table.error();
        const std::string text = options.json
                                     ? documents::top_json(std::move(*table), options.sort, options.rows)
                                     : documents::top_text(std::move(*table), options.sort, options.rows, style);
        if (Status printed = write_out(text, options); !printed) return printed;
    } while (!options.once && !stop.wait(options.interval));
    return core::success();
}

}  // namespace

Run add_top(CLI::App &app, const Common &common) {
    auto options = std::make_shared<TopOptions>();
    CLI::App *const command = app.add_subcommand("top", "List all processes by lag");
    command->add_flag("--once", options->once, "Print one table and exit");
    CLI::Option *const json =
        command->add_flag("--json", options->json, "Print JSON (rsslag.top/1), one line per table");
    command->add_option("--format", options->typed.format, "text, json or prometheus; prometheus requires --once")
        ->excludes(json);
    command->add_option("-o,--output", options->output, "With --once: write to FILE, which is replaced atomically")
        ->check(path);
    command->add_option("--sort", options->typed.sort, "Sort by lag, exact, cached or name")->capture_default_str();
    command
        ->add_option("--rows,--top", options->rows,
                     "At most this many processes (0: all), or groups for prometheus (0: 100)")
        ->capture_default_str();
    command->add_option("--by", options->typed.by,
                        "With --format prometheus: group by comm, exe, user, cgroup or unit");
    command->add_flag("!--no-mouse", options->mouse, "On the screen: leave clicks and the wheel to the terminal");
    command->add_option("--interval", options->typed.interval, "Time between tables: 500ms, 2s, 1m; at least 10ms")
        ->capture_default_str();
    return [options, &common] {
        if (!common.command.empty())
            return fail({Kind::BadInput, "top takes no -- CMD", 0, "use rsslag -- CMD to trace a command"});
        auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        style->mouse = options->mouse;
        if (const Status parsed = parse(*options); !parsed) return fail(parsed.error());
        if (const Status prepared = prepare_output(*options); !prepared) return fail(prepared.error());
        if (options->prometheus) return print_metrics(*options);
        system::StopSignals stop;
        session::TopSession top(options->interval, stop);
        const bool tables = options->once || options->json || !terminal::Screen::possible();
        if (const Status opened = top.open(); !opened) {
            if (!system::can_fall_back_to_proc(opened.error())) return fail(opened.error());
            constexpr std::size_t kOnATerminal = 20;
            const std::size_t rows = tables || options->rows > 0 ? options->rows : kOnATerminal;
            const auto write = [&](const std::string &text) { return write_out(text, *options); };
            return sample_all({options->once, options->json, rows, options->sort, options->interval, write}, *style,
                              stop, opened.error());
        }
        const Status ran = tables ? print_tables(top, *options, *style, stop) : top.show(*style, options->sort);
        return ran ? kDone : fail(ran.error());
    };
}

}  // namespace rsslag::cli
