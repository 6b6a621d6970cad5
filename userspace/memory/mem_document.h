// SPDX-License-Identifier: BSD-2-Clause
// What rsslag mem shows: the memory of many processes in rows, with no page counted twice.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/scheme.h"
#include "memory/all_processes.h"
#include "memory/used.h"
#include "procfs/memory_use.h"
#include "procfs/system.h"

namespace rsslag::memory {

enum class MemBy : std::uint8_t { Program, User, Cgroup, File };
std::string_view name(MemBy by);

struct MemRow {
    std::string name;  ///< raw bytes
    std::size_t processes = 0;
    std::vector<int> pids;
    procfs::Use use;
    std::optional<procfs::Headroom> room;  ///< only by program: how many more instances fit into memory
    std::optional<std::size_t> mappings;   ///< only by file, like use_by_pid
    std::map<int, procfs::Use> use_by_pid;
};

struct MemDocument {
    std::chrono::system_clock::time_point time;
    std::string kernel;
    std::string arch;
    core::PageSize page_size;
    MemBy by = MemBy::Program;
    procfs::MemInfo before, after;  ///< read before and after the processes
    std::vector<MemRow> rows;       ///< largest first
    std::vector<procfs::User> users;
    bool of_one_user = false;  ///< only one user's processes were read
    std::vector<UnreadProcess> failed;
    std::vector<Undecided> undecided;
    std::string why_undecided;
    MachineMemory machine;
    std::optional<core::Truth> status_shows;  ///< set if has_status()
    std::int64_t read_us = 0;

    /// Whether a process in `failed` has a status.
    bool has_status() const;
};

/// The rows of `all`; by file, takes its files.
std::vector<MemRow> mem_rows(MemBy by, AllProcesses &all, const procfs::MemInfo &info);

/// Reads all processes, or only those with the real UID `only`. Sets all fields except kernel, arch, page_size and
/// status_shows. Kind::Denied or Kind::Gone if no process can be read, nor the status of one.
core::Result<MemDocument> read_mem(MemBy by, std::optional<uid_t> only);

}  // namespace rsslag::memory
