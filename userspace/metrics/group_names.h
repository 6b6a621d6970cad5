// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "procfs/user_names.h"

namespace rsslag::metrics {

/// The property of processes that names their group.
enum class By : std::uint8_t { Comm, Exe, User, Cgroup, Unit };

/// As in the arguments: "comm".
std::string_view name(By by);
/// The inverse of name(); nullopt for any other text.
std::optional<By> by_named(std::string_view text);

/// The systemd unit of a cgroup (v2) path: its last service or scope, else its last slice; "none" if it has none,
/// as Prometheus drops an empty label.
std::string unit_of(std::string_view cgroup);

/// Finds the group name of a process; "unknown" if the property cannot be read.
class GroupNames {
  public:
    explicit GroupNames(By by) : by_(by) {}
    std::string of(int tgid, const std::string &comm);
    /// Of the program that the process ran before an exec, which /proc no longer shows. `parent`: the PID of the
    /// process that had the same program; 0: there is none.
    std::string of_earlier(int tgid, int parent, const std::string &comm);

  private:
    std::optional<std::string> read(int tgid);

    By by_;
    procfs::UserNames users_;
};

}  // namespace rsslag::metrics
