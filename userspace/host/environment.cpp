// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/host/environment.h"

#include <sys/auxv.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>

namespace rsslag::host {
namespace {

struct Variable {
    const char *name;
    std::optional<std::string> value;
};

/// The environment is the process's, and so is what was in it.
std::array<Variable, 5> &put_away() {
    static std::array<Variable, 5> variables{
        {{"HOME", {}}, {"TERMINFO", {}}, {"TERMINFO_DIRS", {}}, {"TERMCAP", {}}, {"TERMPATH", {}}}};
    return variables;
}

}  // namespace

void put_environment_away() {
    if (getauxval(AT_SECURE) == 0) return;
    for (Variable &variable : put_away()) {
        if (const char *const value = std::getenv(variable.name)) variable.value = value;
        unsetenv(variable.name);
    }
}

void give_environment_back() {
    for (const Variable &variable : put_away()) {
        if (variable.value) setenv(variable.name, variable.value->c_str(), 1);
    }
}

}  // namespace rsslag::host
