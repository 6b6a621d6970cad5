// SPDX-License-Identifier: BSD-2-Clause
// How much memory many processes hold together, with nothing counted twice. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/procfs/files.h"
#include "rsslag/procfs/system.h"

namespace rsslag::procfs {

/// Memory in kB. private_ + shared is Pss: what is mapped n times counts 1/n in each, so that sums are true.
struct Use {
    core::Kilobytes private_clean, private_dirty, pss, rss;
    core::Kilobytes swap;  ///< SwapPss, where this kernel has it: shared swap counts once as well

    core::Kilobytes private_total() const { return private_clean + private_dirty; }
    core::Kilobytes shared() const { return pss - private_total(); }
    Use &operator+=(const Use &other);
};

Use use_of(const SmapsFields &sums);

/// Pss by what the pages are, as smaps_rollup tells it from 5.4 on, and what hugetlb holds, which no Pss counts.
struct Parts {
    std::optional<core::Kilobytes> anon, file, shmem;
    core::Kilobytes private_hugetlb, shared_hugetlb;  ///< the latter counts in each that maps it

    /// What one of the two does not tell, the sum does not tell either.
    Parts &operator+=(const Parts &other);
};

Parts parts_of(const SmapsFields &sums);

/// One process, or several that share one mm: their memory is there once.
struct User {
    std::vector<int> pids;  ///< ascending
    std::string comm;       ///< of the first; raw, as all names
    std::string program;    ///< path of the executable; the comm where it may not be read
    std::uint32_t uid = 0;  ///< real
    std::string cgroup;     ///< of v2; empty where there is none
    Use use;
    Parts parts{};
};

/// One row: users of one program, of one real UID, of one cgroup.
struct UseGroup {
    std::string name;
    std::size_t processes = 0;
    std::vector<int> pids;
    Use use;
};

/// Largest Pss first.
std::vector<UseGroup> grouped(const std::vector<User> &users, std::string (*name)(const User &));
Use total(const std::vector<User> &users);
Parts total_parts(const std::vector<User> &users);

/// How many more of a program there is room for.
struct Room {
    core::Kilobytes each;     ///< what a further one costs: what each has written for itself, on average
    core::Kilobytes largest;  ///< the most that one has
    std::int64_t more = 0;    ///< how often `each` fits into MemAvailable
};
/// nullopt where nobody has written anything, or MemAvailable is not known. `users` are those of one program.
std::optional<Room> room_for(const std::vector<const User *> &users, const MemInfo &info);

/// One file or kind of memory over all processes.
struct FileUse {
    std::string name;
    std::size_t mappings = 0;
    std::map<int, Use> by_pid;  ///< of the first PID of each User
    core::Kilobytes size;       ///< of the largest sum of one process
    Use use;
};

/// Adds the mappings of one user. Memory without a file goes by the kernel's name for it.
void add(std::map<std::string, FileUse> &files, int pid, const std::vector<Mapping> &mappings);
/// Largest Pss first.
std::vector<FileUse> sorted(std::map<std::string, FileUse> &&files);

}  // namespace rsslag::procfs
