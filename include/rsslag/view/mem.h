// SPDX-License-Identifier: BSD-2-Clause
// Renderers of rsslag mem: the memory of many processes, with no page counted twice. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/scheme.h"
#include "rsslag/memory/all_processes.h"
#include "rsslag/memory/used.h"
#include "rsslag/procfs/memory_use.h"
#include "rsslag/procfs/system.h"
#include "rsslag/view/snapshot.h"

namespace rsslag::view {

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
    std::vector<memory::UnreadProcess> failed;
    std::vector<memory::Undecided> undecided;
    std::string why_undecided;
    memory::MachineMemory machine;
    std::optional<core::Truth> status_shows;  ///< set if a process in `failed` has a status
    std::int64_t read_us = 0;
};

/// rsslag.mem/1 (docs/schema/mem.schema.json): one line with a newline. `each`: with every process.
std::string mem_json(const MemDocument &document, bool each);
/// Text with at most `rows` rows; the rest is one sum.
std::string mem_text(const MemDocument &document, bool each, std::size_t rows, const TextStyle &style);

}  // namespace rsslag::view
