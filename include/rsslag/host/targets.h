// SPDX-License-Identifier: BSD-2-Clause
// Which processes the user means.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/probe/stream.h"
#include "rsslag/procfs/process.h"

namespace rsslag::host {

/// As typed.
struct TargetArguments {
    std::vector<std::string> plain;     ///< each maybe "1,2", or the name of processes
    std::vector<std::string> pids;      ///< the values of -p, likewise
    std::vector<std::string> comms;     ///< --comm GLOB; with a '/' it is matched with the exe's path
    std::optional<std::string> cgroup;  ///< --cgroup PATH, v2, with its descendants
    std::optional<std::string> user;    ///< -u USER, name or number: the real uid

    bool empty() const { return plain.empty() && pids.empty() && comms.empty() && !cgroup && !user; }
};

struct Target {
    pid_t pid = 0;
    bool named = false;  ///< by its number, so that its absence is the user's concern
};

/// "4711" or "1,2": every PID checked for form and range. Kind::BadInput otherwise. Pure.
core::Result<std::vector<pid_t>> parse_pids(const std::string &word);

/// Whether a plain word is no number, nor one that was typed wrong.
bool may_be_name(std::string_view word);

/// Those that go by this name, ascending: none is no error. rsslag itself never does.
core::Result<std::vector<pid_t>> processes_named(std::string_view name);
/// The kernel's names of those that run, for a guess at what somebody meant.
std::vector<std::string> process_names();

/// A name or a number. Kind::BadInput where there is no such user.
core::Result<uid_t> parse_user(const std::string &user);

/// What to say of a process that ended while something was asked of it.
core::Error gone(pid_t pid);

/// Why no reading can be taken of a process: gone, a kernel thread, a zombie; nullopt: it has memory.
std::optional<core::Error> why_unreadable(const procfs::Process &process);

/// What the patterns among the words say of processes to come, as far as the kernel itself can look for them: names, a
/// cgroup, a user, but not the path of an executable. nullopt: nothing of the kind. Errors as resolve().
core::Result<std::optional<probe::Pattern>> pattern_of(const TargetArguments &arguments);

/// All that match, ascending, each once. A TID is Kind::BadInput and names the thread's process; a PID that does not
/// exist is kept (its reader says so); nothing that matches is Kind::Gone. rsslag itself never matches a pattern.
core::Result<std::vector<Target>> resolve(const TargetArguments &arguments);

}  // namespace rsslag::host
