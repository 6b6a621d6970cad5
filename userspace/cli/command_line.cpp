// SPDX-License-Identifier: BSD-2-Clause
#include "command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/text.h"
#include "system/nearest.h"
#include "system/targets.h"
#include "value_names.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;

/// The option that `argument` names ("--unit" in "--unit=kB", "-p" in "-p4711"); null if the app has no such option.
const CLI::Option *option_of(const CLI::App &app, const std::string &argument) {
    return app.get_option_no_throw(argument.starts_with("--") ? argument.substr(0, argument.find('='))
                                                              : argument.substr(0, 2));
}

bool is_number_list(const std::string &argument) {
    return !argument.empty() && argument.find_first_not_of("0123456789,") == std::string::npos;
}

/// The arguments that determine the command.
struct First {
    std::optional<std::string> plain;      ///< the first argument that is neither an option nor an option's value
    bool live_option = false;              ///< an option that only `live` has comes before it
    bool help = false;                     ///< --help comes before it
    std::optional<std::size_t> unknown{};  ///< the place of an option before it that neither the app nor `live` has
};

First first_of(const CLI::App &app, const std::vector<std::string> &arguments) {
    const CLI::App &live = *app.get_subcommand("live");
    First first;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string &argument = arguments[i];
        if (!argument.starts_with('-')) {
            first.plain = argument;
            break;
        }
        first.help = first.help || argument == "-h" || argument == "--help";
        const CLI::Option *option = option_of(app, argument);
        if (option == nullptr) {
            option = option_of(live, argument);
            first.live_option = first.live_option || option != nullptr;
            if (option == nullptr && !first.unknown) first.unknown = i;
        }
        const bool holds_value =
            argument.starts_with("--") ? argument.find('=') != std::string::npos : argument.size() > 2;
        if (option != nullptr && option->get_items_expected_max() > 0 && !holds_value) ++i;
    }
    return first;
}

std::vector<std::string> commands_of(const CLI::App &app) {
    std::vector<std::string> names;
    for (const CLI::App *const command : app.get_subcommands(nullptr))
        if (!command->get_group().empty()) names.push_back(command->get_name());
    return names;
}

void add_options_of(const CLI::App &app, std::vector<std::string> &names) {
    for (const CLI::Option *const option : app.get_options()) {
        if (option->get_group().empty()) continue;  // hidden
        for (const std::string &name : option->get_lnames())
            names.push_back("--" + name);
    }
}

/// A remedy: the suggestion if there is one, else the help to read.
std::string did_you_mean(const std::optional<std::string> &meant, const std::string &help) {
    return meant ? fmt::format("did you mean {}?", core::printable(*meant)) : "see " + help + " --help";
}

/// The error for the argument `typed[at]`, which neither the app nor `commands` expect there.
Error not_expected(const CLI::App &app, const std::vector<const CLI::App *> &commands,
                   const std::vector<std::string> &typed, std::size_t at, const std::string &help) {
    const std::string &argument = typed[at];
    std::string before = "rsslag";
    for (std::size_t i = 0; i < at; ++i)
        before += " " + core::printable(typed[i]);
    std::vector<std::string> options;
    for (const CLI::App *const command : commands)
        add_options_of(*command, options);
    add_options_of(app, options);
    const auto meant =
        argument.starts_with("--") ? system::nearest(argument.substr(0, argument.find('=')), options) : std::nullopt;
    return {Kind::BadInput, fmt::format("'{}' is not expected after '{}'", core::printable(argument), before), 0,
            did_you_mean(meant, help)};
}

/// The index in `typed` of the first argument in `left`, else typed.size(). If `typed` contains an argument more often
/// than `left`, its last occurrences are the ones left over.
std::size_t first_unexpected(const std::vector<std::string> &typed, const std::vector<std::string> &left) {
    std::multiset<std::string> unexpected(left.begin(), left.end());
    std::size_t first = typed.size();
    for (std::size_t i = typed.size(); i-- > 0;) {
        const auto found = unexpected.find(typed[i]);
        if (found == unexpected.end()) continue;
        unexpected.erase(found);
        first = i;
    }
    return first;
}

/// "--mode: x is not valid; use events or counts" as an error with a remedy.
std::optional<Error> bad_value(const std::string &message) {
    const std::size_t colon = message.find(": ");
    const std::size_t end = message.rfind(kNotValid);
    if (colon == std::string::npos || end == std::string::npos || end < colon) return std::nullopt;
    return Error{
        Kind::BadInput,
        fmt::format("{} {} is not valid", message.substr(0, colon), message.substr(colon + 2, end - colon - 2)), 0,
        message.substr(end + kNotValid.size())};
}

/// "--mode: 1 required {events,counts} missing" as an error that names the value.
std::optional<Error> missing_value(const std::string &message, const std::string &help) {
    constexpr std::string_view kRequired = ": 1 required ";
    constexpr std::string_view kMissing = " missing";
    const std::size_t at = message.find(kRequired);
    if (at == std::string::npos || !message.ends_with(kMissing)) return std::nullopt;
    const std::size_t begin = at + kRequired.size();
    return Error{Kind::BadInput,
                 fmt::format("{} requires a value: {}", message.substr(0, at),
                             message.substr(begin, message.size() - begin - kMissing.size())),
                 0, "see " + help + " --help"};
}

}  // namespace

const CLI::App *command_named(const CLI::App &app, const std::string &name) {
    for (const CLI::App *const command : app.get_subcommands(nullptr))
        if (command->get_name() == name) return command;
    return nullptr;
}

std::vector<std::string> split(int argc, char **argv, std::vector<std::string> &command, bool &has_command) {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    has_command = dashes != arguments.end();
    if (has_command) command.assign(dashes + 1, arguments.end());
    arguments.erase(dashes, arguments.end());
    return arguments;
}

core::Result<std::vector<std::string>> with_command(const CLI::App &app, std::vector<std::string> arguments,
                                                    bool has_command) {
    const First first = first_of(app, arguments);
    bool live = has_command || first.live_option;
    if (first.plain) {
        if (command_named(app, *first.plain) != nullptr) return arguments;
        live = is_number_list(*first.plain);
        if (!live && first.help) return arguments;
        // The plain argument may be the value of the mistyped option.
        if (!live && first.unknown)
            return not_expected(app, {app.get_subcommand("live")}, arguments, *first.unknown, "rsslag");
        if (!live) {
            const auto named =
                system::may_be_name(*first.plain) ? system::processes_named(*first.plain) : std::vector<pid_t>();
            if (!named) return named.error();
            if (named->empty()) {
                Error error = unknown_command(app, *first.plain);
                error.what += ", and no process has that name";
                return error;
            }
            live = true;
        }
    }
    if (live) arguments.insert(arguments.begin(), "live");
    return arguments;
}

Error usage_error(const CLI::App &app, const std::vector<std::string> &typed, const CLI::ParseError &error) {
    const auto chosen = app.get_subcommands();
    const std::string help = chosen.empty() ? "rsslag" : "rsslag " + chosen.front()->get_name();
    Error plain{Kind::BadInput, error.what(), 0, "see " + help + " --help"};
    constexpr std::string_view kExcludes = " excludes ";
    if (const std::size_t at = plain.what.find(kExcludes); at != std::string::npos) {
        const std::string other = plain.what.substr(at + kExcludes.size());
        plain.what = fmt::format("{} and {} cannot be combined", plain.what.substr(0, at), other);
        return plain;
    }
    if (const std::size_t at = plain.what.find(": At Most 1 required but received"); at != std::string::npos) {
        plain.what = fmt::format("{} can be given only once", plain.what.substr(0, at));
        return plain;
    }
    if (dynamic_cast<const CLI::ExtrasError *>(&error) == nullptr)
        return bad_value(error.what()).value_or(missing_value(error.what(), help).value_or(plain));
    const std::size_t at = first_unexpected(typed, app.remaining(true));
    if (at == typed.size()) return plain;
    Error unexpected = not_expected(app, {chosen.begin(), chosen.end()}, typed, at, help);
    if (help == "rsslag top" && !typed[at].starts_with('-'))
        unexpected.remedy = "top lists all processes; use rsslag snapshot or rsslag live for one";
    return unexpected;
}

Error unknown_command(const CLI::App &app, const std::string &argument) {
    std::vector<std::string> known = commands_of(app);
    for (std::string &name : system::process_names())
        known.push_back(std::move(name));
    return {Kind::BadInput, fmt::format("'{}' is not a command", core::printable(argument)), 0,
            did_you_mean(system::nearest(argument, known), "rsslag")};
}

}  // namespace rsslag::cli
