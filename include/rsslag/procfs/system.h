// SPDX-License-Identifier: BSD-2-Clause
// What files of the whole machine say that memory views need: /proc/meminfo and /proc/PID/mountinfo.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/core/units.h"

namespace rsslag::procfs {

/// /proc/meminfo. A line that this kernel does not print is nullopt.
struct MemInfo {
    std::optional<core::Kilobytes> total, free, available, swap_total, swap_free;
};

/// One line of mountinfo (fs/proc_namespace.c show_mountinfo).
struct Mount {
    std::uint64_t id = 0;  ///< as statx(2) has it
    std::string device;    ///< as smaps writes it: "08:01", hexadecimal
    std::string where;     ///< the kernel's escapes (\040) kept
    std::string type;      ///< of the file system: "ext4"
    std::string source;    ///< likewise: "/dev/root"
    std::string options;   ///< of the file system: "rw,dax=always"
};

/// Text without MemTotal is Corrupt.
core::Result<MemInfo> parse_meminfo(std::string_view text);
core::Result<std::vector<Mount>> parse_mountinfo(std::string_view text);
/// The path in the "0::" line of /proc/PID/cgroup, of the v2 hierarchy; nullopt where there is none.
std::optional<std::string> parse_cgroup(std::string_view text);

core::Result<MemInfo> read_meminfo(const std::string &root = "/proc");

}  // namespace rsslag::procfs
