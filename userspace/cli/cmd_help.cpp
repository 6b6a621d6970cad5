// SPDX-License-Identifier: BSD-2-Clause
// rsslag help [COMMAND] and rsslag version, for whoever tries words before options.
#include <memory>

#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "rsslag/terminal/output.h"
#include "version.h"

namespace rsslag::cli {
namespace {

int print(const std::string &text) {
    const core::Status printed = terminal::print(text);
    return printed ? kDone : fail(printed.error());
}

}  // namespace

Run add_help(CLI::App &app, const Common &common) {
    auto name = std::make_shared<std::string>();
    CLI::App *const command = app.add_subcommand("help", "What there is; of a COMMAND: its options and examples");
    command->add_option("COMMAND", *name, "As rsslag COMMAND --help");
    return [name, &app, &common] {
        if (!common.command.empty()) return fail({core::Kind::BadInput, "help takes no -- CMD", 0, ""});
        // App::help() would be that of the chosen command, which is this one.
        if (name->empty()) return print(app.get_formatter()->make_help(&app, "rsslag", CLI::AppFormatMode::Normal));
        const CLI::App *const asked = command_named(app, *name);
        return asked == nullptr ? fail(no_command(app, *name)) : print(asked->help(app.get_name()));
    };
}

Run add_version(CLI::App &app, const Common &common) {
    app.add_subcommand("version", "As --version: of what this rsslag is made, and which formats it writes");
    return [&common] {
        if (!common.command.empty()) return fail({core::Kind::BadInput, "version takes no -- CMD", 0, ""});
        return print(version_text());
    };
}

}  // namespace rsslag::cli
