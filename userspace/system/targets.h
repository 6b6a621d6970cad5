// SPDX-License-Identifier: BSD-2-Clause
// Which processes the arguments of a command name.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/result.h"
#include "probe/stream.h"
#include "procfs/process.h"

namespace rsslag::system {

/// The arguments as typed.
struct TargetArguments {
    std::vector<std::string> plain;     ///< each a PID, a list "1,2", or the name of processes
    std::vector<std::string> pids;      ///< values of -p: each a PID or a list "1,2"
    std::vector<std::string> comms;     ///< --comm GLOB; with a '/' it is matched against the paths of the program
    std::optional<std::string> cgroup;  ///< --cgroup PATH, v2, with its descendants
    std::optional<std::string> user;    ///< -u USER, name or number: the real UID

    /// Whether later processes can match, too. Not by a PID: a process that reuses it is another one.
    bool has_pattern() const { return !comms.empty() || cgroup || user; }
    bool empty() const { return plain.empty() && pids.empty() && !has_pattern(); }
};

struct Target {
    pid_t pid = 0;
    bool named = false;  ///< by its PID: it is an error if it cannot be read
};

/// Parses "4711" or "1,2". Kind::BadInput if a PID is malformed or out of range. Pure.
core::Result<std::vector<pid_t>> parse_pids(const std::string &argument);

/// Whether `argument` can be a process name: it contains a character other than digits, signs, commas and spaces.
bool may_be_name(std::string_view argument);

/// PIDs of the processes with this name (procfs::has_name) or, if it contains a '/', with this path of the executable;
/// ascending, without rsslag itself; may be empty.
core::Result<std::vector<pid_t>> processes_named(std::string_view name);
/// The comms of the running processes and the names of their programs, which processes_named() finds; sorted.
std::vector<std::string> process_names();

/// The UID of a user, by name or number. Kind::BadInput if the name does not exist and is no number.
core::Result<uid_t> parse_user(const std::string &user);
/// The same for the GID of a group.
core::Result<gid_t> parse_group(const std::string &group);

/// The Kind::Gone error for a process that ended during a reading.
core::Error gone(pid_t pid);

/// Why a process cannot be read: Kind::Gone, Kind::Unsupported for a kernel thread or a zombie, or the error of its
/// stat file; nullopt: it has memory.
std::optional<core::Error> why_unreadable(const procfs::Process &process);

/// Why a process could not be read, for which `error` was returned: as why_unreadable(), else `error`. Of a process
/// that exists and has memory, the kind is Denied instead of Gone or Unsupported, and there is a remedy.
core::Error why_not_read(pid_t pid, core::Error error);

/// The pattern (name, cgroup, user) by which BPF programs can match later processes. nullopt: the arguments contain no
/// pattern, or one that BPF programs cannot match, such as the path of an executable. Errors as resolve().
core::Result<std::optional<probe::Pattern>> pattern_of(const TargetArguments &arguments);

/// All processes that match, ascending, each once. rsslag itself is included only by PID. The result contains a PID
/// even if it does not exist. Kind::BadInput for a malformed argument or the TID of a thread, with the PID of its
/// process in the message; Kind::Gone if no process matches; Kind::Io if that cannot be known, for lack of descriptors.
core::Result<std::vector<Target>> resolve(const TargetArguments &arguments);

/// The processes that match the patterns, except those in `known`, whose files are not read; may be empty. Kind::Io as
/// resolve().
core::Result<std::vector<pid_t>> matching(const TargetArguments &arguments, const std::unordered_set<pid_t> &known);

}  // namespace rsslag::system
