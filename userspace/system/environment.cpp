// SPDX-License-Identifier: BSD-2-Clause
#include "system/environment.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

namespace rsslag::system {
namespace {

struct Variable {
    const char *name;
    std::optional<std::string> value;
};

/// Static, as the environment is process-wide.
std::array<Variable, 5> &put_away() {
    static std::array<Variable, 5> variables{
        {{"HOME", {}}, {"TERMINFO", {}}, {"TERMINFO_DIRS", {}}, {"TERMCAP", {}}, {"TERMPATH", {}}}};
    return variables;
}

/// The soft limit on descriptors when rsslag started; nullopt: not changed.
std::optional<rlim_t> &descriptors_before() {
    static std::optional<rlim_t> limit;
    return limit;
}

struct Disposition {
    int signal = 0;
    bool ignored = false;
};

/// Those that rsslag handles or ignores.
std::array<Disposition, 5> &dispositions_before() {
    static std::array<Disposition, 5> all{
        {{SIGINT, false}, {SIGTERM, false}, {SIGHUP, false}, {SIGPIPE, false}, {SIGQUIT, false}}};
    return all;
}

void set_descriptor_limit(rlim_t soft) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = soft;
    setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

void open_standard_descriptors() {
    for (int fd = 0; fd <= 2; ++fd) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        // Opened in the wrong direction, so that a write to a closed stdout fails.
        [[maybe_unused]] const int opened = ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
}

void remove_unsafe_variables() {
    if (getauxval(AT_SECURE) == 0) return;
    for (Variable &variable : put_away()) {
        if (const char *const value = std::getenv(variable.name)) variable.value = value;
        unsetenv(variable.name);
    }
}

void restore_variables() {
    for (const Variable &variable : put_away()) {
        if (variable.value) setenv(variable.name, variable.value->c_str(), 1);
    }
}

void take_over_signals() {
    for (Disposition &each : dispositions_before()) {
        struct sigaction action {};
        each.ignored = sigaction(each.signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    }
    std::signal(SIGPIPE, SIG_IGN);
}

bool was_ignored(int signal) {
    for (const Disposition &each : dispositions_before())
        if (each.signal == signal) return each.ignored;
    return false;
}

void restore_signals() {
    for (const Disposition &each : dispositions_before())
        std::signal(each.signal, each.ignored ? SIG_IGN : SIG_DFL);
}

void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    descriptors_before() = limit.rlim_cur;
    set_descriptor_limit(limit.rlim_max);
}

void restore_descriptor_limit() {
    if (descriptors_before()) set_descriptor_limit(*descriptors_before());
}

}  // namespace rsslag::system
