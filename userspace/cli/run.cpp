// SPDX-License-Identifier: BSD-2-Clause
// The options that all commands share, and the choice of the command.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command_line.h"
#include "commands.h"
#include "examples.h"
#include "exit_status.h"
#include "log.h"
#include "run.h"
#include "system/invoking_user.h"
#include "terminal/output.h"
#include "terminal/screen.h"
#include "value_names.h"
#include "version.h"

namespace rsslag::cli {
namespace {

/// These commands drop all privileges before they open any file, including the log.
bool needs_only_files(std::string_view command) {
    return command == "replay" || command == "report" || command == "export";
}

/// Names the options that an option excludes after its description, and leaves those that it needs to the description.
class HelpText : public CLI::Formatter {
    /// A flag that may have a value has its default in braces.
    std::string make_option_name(const CLI::Option *option, bool is_positional) const override {
        const std::string name = Formatter::make_option_name(option, is_positional);
        if (!name.ends_with('}')) return name;
        return name.substr(0, name.find('{')) + (name.ends_with("{false}") ? "" : "[=PAGES]");
    }
    std::string make_option_opts(const CLI::Option *option) const override {
        const std::string text = Formatter::make_option_opts(option);
        const auto at = [&](const std::string &label) { return text.find(" " + get_label(label) + ":"); };
        return text.substr(0, std::min(at("Needs"), at("Excludes")));
    }
    std::string make_usage(const CLI::App *app, std::string name) const override {
        const std::string usage = Formatter::make_usage(app, std::move(name));
        const std::string &command = app->get_name();
        const bool may = command == "live" || command == "snapshot" || command == "record";
        if (!may && command != "peak") return usage;
        return usage.substr(0, usage.find_last_not_of('\n') + 1) +
               (may ? " [-- CMD [ARG...]]\n" : " -- CMD [ARG...]\n");
    }
    std::string make_option_desc(const CLI::Option *option) const override {
        std::set<std::string> names;
        for (const CLI::Option *other : option->get_excludes())
            names.insert(other->get_name());
        return option->get_description() + (names.empty() ? "" : fmt::format("; not with {}", fmt::join(names, ", ")));
    }
};

int parse_error(const CLI::App &app, const std::vector<std::string> &typed, const CLI::ParseError &error) {
    if (error.get_exit_code() != 0) return fail(usage_error(app, typed, error));
    const bool version = dynamic_cast<const CLI::CallForVersion *>(&error) != nullptr;
    const auto chosen = app.get_subcommands();
    return print(version ? version_text() : chosen.empty() ? app.help() : chosen.front()->help(app.get_name()));
}

int run_command(int argc, char **argv, bool &has_command) {
    Common common;
    LogOptions log;
    std::vector<std::string> arguments = split(argc, argv, common.command, has_command);
    common.arguments = arguments;
    CLI::App app("Show the exact RSS of processes, and why the RSS in ps and top can be wrong", "rsslag");
    app.formatter(std::make_shared<HelpText>());
    app.fallthrough();
    app.require_subcommand(0, 1);  // checked below: an unexpected argument is reported first
    app.set_version_flag("-V,--version", version_text());
    app.add_flag("-v,--verbose", log.verbose, "Log more (-vv: everything)");
    app.add_flag("-q,--quiet", log.quiet, "Log errors only");
    app.add_option("--log-file", log.file, "Write the log to FILE instead of stderr");
    app.add_option("--color", common.color, "Use color: auto, always or never")->capture_default_str();
    app.add_option("--unit", common.unit, "Unit of sizes: kB, MiB, GiB or pages")->capture_default_str();
    const std::map<std::string, Run> commands{
        {"snapshot", add_snapshot(app, common)}, {"maps", add_maps(app, common)},
        {"mem", add_mem(app, common)},           {"doctor", add_doctor(app, common)},
        {"live", add_live(app, common)},         {"top", add_top(app, common)},
        {"peak", add_peak(app, common)},         {"record", add_record(app, common)},
        {"replay", add_replay(app, common)},     {"report", add_report(app, common)},
        {"export", add_export(app, common)},     {"serve", add_serve(app, common)},
        {"mount", add_mount(app, common)},       {"umount", add_umount(app, common)},
        {"demo", add_demo(app, common)},         {"help", add_help(app, common)},
        {"version", add_version(app, common)},   {"completion", add_completion(app, common)}};
    name_values(app);
    add_examples(app);
    auto completed = with_command(app, std::move(arguments), has_command);
    if (!completed) return fail(completed.error());
    arguments = *std::move(completed);
    if (arguments.empty() && !has_command && terminal::Screen::possible()) arguments.emplace_back("top");
    std::reverse(arguments.begin(), arguments.end());
    try {
        app.parse(std::move(arguments));
    } catch (const CLI::ParseError &error) {
        return parse_error(app, common.arguments, error);
    }
    if (app.get_subcommands().empty()) {
        return fail(
            {core::Kind::BadInput, "no command given", 0, "run rsslag PID, rsslag snapshot PID, or rsslag --help"});
    }
    if (has_command && common.command.empty())
        return fail({core::Kind::BadInput, "no command after --", 0, "use -- CMD ARG..."});
    const std::string chosen = app.get_subcommands().front()->get_name();
    if (needs_only_files(chosen)) {
        if (const core::Status offline = system::drop_to_invoking_user(); !offline) return fail(offline.error());
    }
    if (const core::Status logging = set_up_log(log); !logging) {
        const int status = fail(logging.error());
        return has_command ? kCommandFailed : status;
    }
    return commands.at(chosen)();
}

}  // namespace

int run(int argc, char **argv) {
    bool has_command = false;
    int status = run_command(argc, argv, has_command);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
        const core::Status closed = terminal::close_output(fd);
        if (closed) continue;
        const int failed = fail(closed.error());
        if (has_command || status == kDone) status = has_command ? kCommandFailed : failed;
    }
    return status;
}

}  // namespace rsslag::cli
