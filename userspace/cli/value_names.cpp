// SPDX-License-Identifier: BSD-2-Clause
#include "value_names.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace rsslag::cli {
namespace {

struct ValueName {
    std::string_view command;  ///< empty: any
    std::string_view option;
    const char *name;
};

// The first match counts. Braces list the possible values, as in the names by CLI::IsMember.
constexpr std::array kValueNames{
    ValueName{"", "--log-file", "FILE"},
    ValueName{"", "--color", "{auto,always,never}"},
    ValueName{"", "--unit", "{kB,MiB,GiB,pages}"},
    ValueName{"", "--pid", "PID"},
    ValueName{"", "--comm", "NAME"},
    ValueName{"", "--cgroup", "DIR"},
    ValueName{"", "--user", "USER"},
    ValueName{"", "--group", "GROUP"},
    ValueName{"", "--interval", "TIME"},
    ValueName{"", "--duration", "TIME"},
    ValueName{"", "--delay", "TIME"},
    ValueName{"", "--sync", "TIME"},
    ValueName{"", "--from", "TIME"},
    ValueName{"", "--over", "TIME"},
    ValueName{"", "--for", "TIME"},
    ValueName{"", "--max-age", "TIME"},
    ValueName{"", "--ring", "SIZE"},
    ValueName{"", "--max-size", "SIZE"},
    ValueName{"", "--record", "FILE"},
    ValueName{"", "--output", "FILE"},
    ValueName{"", "--html", "FILE"},
    ValueName{"", "--svg", "FILE"},
    ValueName{"", "--diff", "FILE"},
    ValueName{"", "--baseline", "FILE"},
    ValueName{"", "--elf", "FILE"},
    ValueName{"", "--assert", "CONDITION"},
    ValueName{"", "--columns", "FIELD"},
    ValueName{"", "--listen", "ADDRESS:PORT"},
    ValueName{"", "--filter", "GLOB"},
    ValueName{"", "--trace", "NAME"},
    ValueName{"mem", "--by", "{program,user,cgroup,file}"},
    ValueName{"maps", "--sort", "FIELD"},
    ValueName{"mount", "--mode", "{0444,0440,0400}"},
    ValueName{"demo", "--threads", "N"},
    ValueName{"", "--threads", "{all,changed,top:N,none}"},
};

void name_values_of(CLI::App &app) {
    for (CLI::Option *const option : app.get_options()) {
        if (option->get_items_expected_max() == 0) continue;
        if (!option->nonpositional()) {
            option->type_name("");  // its own name suffices
            continue;
        }
        const auto *const found = std::find_if(kValueNames.begin(), kValueNames.end(), [&](const ValueName &each) {
            return (each.command.empty() || each.command == app.get_name()) &&
                   option->check_name(std::string(each.option));
        });
        if (found != kValueNames.end()) option->type_name(found->name);
    }
}

}  // namespace

void name_values(CLI::App &app) {
    name_values_of(app);
    for (CLI::App *const command : app.get_subcommands({}))
        name_values_of(*command);
}

}  // namespace rsslag::cli
