// SPDX-License-Identifier: BSD-2-Clause
// Dispatches: parses the command line, finds the command, ends with its status.
#include <fcntl.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "exit_status.h"
#include "log.h"
#include "rsslag/host/environment.h"
#include "rsslag/host/invoking_user.h"
#include "rsslag/terminal/output.h"
#include "rsslag/terminal/screen.h"
#include "version.h"

namespace rsslag::cli {
namespace {

/// A missing 0, 1 or 2 would be given to the next file that is opened, and then be written to.
void fill_standard_descriptors() {
    for (int fd = 0; fd <= 2; ++fd) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        // Opened the wrong way round, so that writing to a closed stdout is noticed as an error.
        [[maybe_unused]] const int filled = ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
}

/// What is before the first `--`, and the command after it.
std::vector<std::string> split(int argc, char **argv, std::vector<std::string> &command, bool &has_command) {
    std::vector<std::string> words(argv + 1, argv + argc);
    const auto dashes = std::find(words.begin(), words.end(), "--");
    has_command = dashes != words.end();
    if (has_command) command.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
    return words;
}

/// "--unit" of "--unit=kB", "-p" of "-p4711"; the option of that name, if the app has one.
const CLI::Option *option_of(const CLI::App &app, const std::string &word) {
    return app.get_option_no_throw(word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2));
}

bool is_number_list(const std::string &word) {
    return word.find_first_not_of("0123456789,") == std::string::npos;
}

/// `rsslag PID` and `rsslag -- CMD` are `live`, with or without its options: the first plain word decides.
bool means_live(const CLI::App &app, const std::vector<std::string> &words, bool has_command) {
    const CLI::App &live = *app.get_subcommand("live");
    bool own_option = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string &word = words[i];
        if (!word.starts_with('-')) return !word.empty() && is_number_list(word);
        const CLI::Option *option = option_of(app, word);
        if (option == nullptr) {
            option = option_of(live, word);
            own_option = own_option || option != nullptr;
        }
        const bool holds_value = word.starts_with("--") ? word.find('=') != std::string::npos : word.size() > 2;
        if (option != nullptr && option->get_items_expected_max() > 0 && !holds_value) ++i;
    }
    return has_command || own_option;
}

/// Such a command gives up every right before it opens any file, that of the log too.
bool needs_only_files(std::string_view command) {
    return command == "replay" || command == "report" || command == "export";
}

int parse_error(const std::string &help, const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
        const bool version = dynamic_cast<const CLI::CallForVersion *>(&error) != nullptr;
        const core::Status printed = terminal::print(version ? version_text() : help);
        return printed ? kDone : fail(printed.error());
    }
    return fail({core::Kind::BadInput, error.what(), 0, "rsslag --help tells what there is"});
}

int run(int argc, char **argv) {
    Common common;
    LogOptions log;
    bool has_command = false;
    std::vector<std::string> words = split(argc, argv, common.command, has_command);
    common.words = words;
    CLI::App app("Why does this process's reported RSS lag, and what is it really?", "rsslag");
    app.fallthrough();
    app.require_subcommand(0, 1);  // checked below: a word that is none should be named first
    app.set_version_flag("--version", version_text());
    app.add_flag("-v,--verbose", log.verbose, "Say more on stderr (-vv: all)");
    app.add_flag("-q,--quiet", log.quiet, "Say errors only");
    app.add_option("--log-file", log.file, "Write the log to FILE");
    app.add_option("--color", common.color, "auto, always or never")->capture_default_str();
    app.add_option("--unit", common.unit, "kB, MiB, GiB or pages")->capture_default_str();
    const std::map<std::string, Run> commands{
        {"snapshot", add_snapshot(app, common)}, {"maps", add_maps(app, common)},
        {"mem", add_mem(app, common)},           {"doctor", add_doctor(app, common)},
        {"live", add_live(app, common)},         {"top", add_top(app, common)},
        {"record", add_record(app, common)},     {"replay", add_replay(app, common)},
        {"report", add_report(app, common)},     {"export", add_export(app, common)},
        {"demo", add_demo(app, common)}};
    app.footer("rsslag PID and rsslag -- CMD are rsslag live; rsslag alone, on a terminal, is rsslag top.");
    if (means_live(app, words, has_command)) words.insert(words.begin(), "live");
    if (words.empty() && !has_command && terminal::Screen::possible()) words.emplace_back("top");
    std::reverse(words.begin(), words.end());
    try {
        app.parse(std::move(words));
    } catch (const CLI::ParseError &error) {
        const auto chosen = app.get_subcommands();
        return parse_error(chosen.empty() ? app.help() : chosen.front()->help(app.get_name()), error);
    }
    if (app.get_subcommands().empty()) {
        return fail(
            {core::Kind::BadInput, "no command is given", 0, "try rsslag PID, rsslag snapshot PID, or rsslag --help"});
    }
    if (has_command && common.command.empty()) {
        return fail({core::Kind::BadInput, "there is no command after --", 0, "write -- CMD ARG..."});
    }
    const std::string chosen = app.get_subcommands().front()->get_name();
    if (needs_only_files(chosen)) {
        if (const core::Status offline = host::drop_to_invoking_user(); !offline) return fail(offline.error());
    }
    const core::Status logging = set_up_log(log);
    if (!logging) return fail(logging.error());
    return commands.at(chosen)();
}

}  // namespace
}  // namespace rsslag::cli

int main(int argc, char **argv) {
    std::signal(SIGPIPE, SIG_IGN);
    rsslag::cli::fill_standard_descriptors();
    rsslag::host::put_environment_away();
    try {
        return rsslag::cli::run(argc, argv);
    } catch (const std::exception &error) {  // what a library throws past its border: nothing that is foreseen
        return rsslag::cli::fail({rsslag::core::Kind::Internal, error.what(), 0, ""});
    }
}
