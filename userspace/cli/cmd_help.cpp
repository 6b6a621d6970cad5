// SPDX-License-Identifier: BSD-2-Clause
// rsslag help [COMMAND] and rsslag version, which print the same as --help and --version.
#include <memory>

#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "version.h"

namespace rsslag::cli {

Run add_help(CLI::App &app, const Common &common) {
    auto name = std::make_shared<std::string>();
    CLI::App *const command = app.add_subcommand("help", "List the commands, or the options and examples of COMMAND");
    command->add_option("COMMAND", *name, "Same as rsslag COMMAND --help");
    return [name, &app, &common] {
        if (!common.command.empty()) return fail({core::Kind::BadInput, "help takes no -- CMD", 0, "remove -- CMD"});
        // App::help() would print the help of the parsed command, which is `help`.
        if (name->empty()) return print(app.get_formatter()->make_help(&app, "rsslag", CLI::AppFormatMode::Normal));
        const CLI::App *const named = command_named(app, *name);
        return named == nullptr ? fail(unknown_command(app, *name)) : print(named->help(app.get_name()));
    };
}

Run add_version(CLI::App &app, const Common &common) {
    app.add_subcommand("version", "Same as --version: the build, and the versions of schemas and formats");
    return [&common] {
        if (!common.command.empty()) return fail({core::Kind::BadInput, "version takes no -- CMD", 0, "remove -- CMD"});
        return print(version_text());
    };
}

}  // namespace rsslag::cli
