// SPDX-License-Identifier: BSD-2-Clause
#include "value_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"
#include "system/nearest.h"

namespace rsslag::cli {
namespace {

/// What is checked before the value reaches the command.
enum class Check : std::uint8_t { None, Listed, Number };

struct ValueName {
    std::string_view command;  ///< empty: any
    std::string_view option;
    const char *name;
    Check check = Check::None;
    std::uint64_t least = 0;
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

// The first match counts. Braces list the possible values.
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
    ValueName{"", "--history", "TIME"},
    ValueName{"", "--keep", "TIME"},
    ValueName{"", "--save-when", "CONDITION"},
    ValueName{"", "--save-limit", "N", Check::Number, 1},
    ValueName{"", "--from", "TIME"},
    ValueName{"", "--over", "TIME"},
    ValueName{"", "--for", "TIME"},
    ValueName{"", "--max-age", "TIME"},
    ValueName{"", "--ring", "SIZE"},
    ValueName{"", "--stack-bytes", "SIZE"},
    ValueName{"", "--stack-seed", "N"},
    ValueName{"", "--unwind", "{auto,fp,dwarf}", Check::Listed},
    ValueName{"", "--symbols", "DIR"},
    ValueName{"maps", "--stacks", "FILE"},
    ValueName{"", "--memory", "SIZE"},
    ValueName{"", "--max-size", "SIZE"},
    ValueName{"", "--record", "FILE"},
    ValueName{"", "--output", "FILE"},
    ValueName{"", "--html", "FILE"},
    ValueName{"", "--svg", "FILE"},
    ValueName{"", "--flame", "FILE"},
    ValueName{"", "--diff", "FILE"},
    ValueName{"", "--baseline", "FILE"},
    ValueName{"", "--elf", "FILE"},
    ValueName{"", "--assert", "CONDITION"},
    ValueName{"", "--columns", "FIELD"},
    ValueName{"", "--listen", "ADDRESS:PORT"},
    ValueName{"", "--filter", "GLOB"},
    ValueName{"", "--trace", "NAME"},
    ValueName{"report", "--by", "{function,file,module,thread,reason,kernel}", Check::Listed},
    ValueName{"mem", "--by", "{program,user,cgroup,file}"},
    ValueName{"", "--by", "{comm,exe,user,cgroup,unit}", Check::Listed},
    ValueName{"maps", "--sort", "FIELD"},
    ValueName{"top", "--sort", "{lag,exact,cached,name}", Check::Listed},
    ValueName{"mount", "--mode", "{0444,0440,0400}"},
    ValueName{"", "--mode", "{events,counts}", Check::Listed},
    ValueName{"top", "--format", "{text,json,prometheus}", Check::Listed},
    ValueName{"export", "--format", "{jsonl,csv,sqlite,perfetto,folded,pprof,speedscope}", Check::Listed},
    ValueName{"", "--format", "{lines,csv,jsonl}", Check::Listed},
    ValueName{"demo", "--threads", "N", Check::Number},
    ValueName{"demo", "--kb", "N", Check::Number},
    ValueName{"", "--threads", "{all,changed,top:N,none}"},
    ValueName{"", "--repeat", "N", Check::Number, 1, 1'000'000},
    ValueName{"", "--limit", "N", Check::Number},
    ValueName{"", "--rows", "N", Check::Number},
    ValueName{"serve", "--top", "N", Check::Number, 1, 10'000},
    ValueName{"", "--speed", "FACTOR"},
};

std::string refusal(const std::string &value, const std::string &remedy) {
    return core::printable(value) + std::string(kNotValid) + remedy;
}

/// `name`: "{events,counts}".
CLI::Validator one_of(const std::string &name) {
    const std::vector<std::string> values = CLI::detail::split(name.substr(1, name.size() - 2), ',');
    const auto check = [values](const std::string &value) -> std::string {
        if (std::ranges::find(values, value) != values.end()) return "";
        const auto meant = system::nearest(value, values);
        if (meant) return refusal(value, fmt::format("did you mean {}?", *meant));
        const std::vector<std::string> others(values.begin(), values.end() - 1);
        return refusal(value, fmt::format("use {} or {}", fmt::join(others, ", "), values.back()));
    };
    return {check, ""};
}

CLI::Validator number(std::uint64_t least, std::uint64_t most) {
    const auto check = [least, most](const std::string &value) -> std::string {
        std::uint64_t found = 0;
        const char *const end = value.data() + value.size();
        const auto [after, error] = std::from_chars(value.data(), end, found);
        if (error == std::errc{} && after == end && found >= least && found <= most) return "";
        return refusal(value, most == std::numeric_limits<std::uint64_t>::max()
                                  ? fmt::format("use an integer of {} or more", least)
                                  : fmt::format("use an integer from {} to {}", least, most));
    };
    return {check, ""};
}

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
        if (found == kValueNames.end()) continue;
        option->type_name(found->name);
        if (found->check == Check::Listed) option->check(one_of(found->name));
        if (found->check == Check::Number) option->check(number(found->least, found->most));
    }
}

}  // namespace

void name_values(CLI::App &app) {
    name_values_of(app);
    for (CLI::App *const command : app.get_subcommands({}))
        name_values_of(*command);
}

}  // namespace rsslag::cli
