// SPDX-License-Identifier: BSD-2-Clause
// Memory of many processes together, with no page counted twice. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "procfs/files.h"
#include "procfs/system.h"

namespace rsslag::procfs {

/// Memory in kB. private_total() + shared() is Pss, in which a page that is mapped n times counts 1/n for each mapping,
/// so that a sum over processes counts it once.
struct Use {
    core::Kilobytes private_clean, private_dirty, pss, rss;
    core::Kilobytes swap;  ///< SwapPss, which counts shared swap once; Swap if this kernel has no SwapPss

    core::Kilobytes private_total() const { return private_clean + private_dirty; }
    core::Kilobytes shared() const { return pss - private_total(); }
    Use &operator+=(const Use &other);
};

Use use_of(const SmapsFields &sums);

/// Pss by member, which smaps_rollup prints since 5.4, and hugetlb pages, which Pss does not count.
struct Parts {
    std::optional<core::Kilobytes> anon, file, shmem;
    core::Kilobytes private_hugetlb, shared_hugetlb;  ///< shared_hugetlb counts in full for each process
    /// Pages of drivers, if separate_drivers() has taken them out of `file`.
    core::Kilobytes drivers{};
    core::Kilobytes bpf_maps{};  ///< of `drivers`: BPF arrays, which the kernel allocates by vmalloc

    /// A sum is nullopt if one of its two terms is.
    Parts &operator+=(const Parts &other);
};

Parts parts_of(const SmapsFields &sums);

/// Whether the pages of a mapping may belong to a driver, by the fields that maps has: a name that is not a path, or
/// the path of a device.
bool may_be_of_driver(const Mapping &mapping);

/// Takes the pages that drivers inserted into `mappings` out of parts.file: Pss_File counts them, but the page cache
/// does not have them. `mappings` may have been read later than `parts`.
void separate_drivers(Parts &parts, const std::vector<Mapping> &mappings);

/// One process, or several that share one mm, whose memory counts once.
struct User {
    std::vector<int> pids;  ///< ascending
    std::string comm;       ///< of the first PID; raw, like all names
    std::string program;    ///< path of the executable; the comm if it may not be read
    std::uint32_t uid = 0;  ///< real
    std::string cgroup;     ///< path in the v2 hierarchy; empty if there is none
    Use use;
    Parts parts{};
};

/// One row: the users with the same program, real UID or cgroup.
struct UseGroup {
    std::string name;
    std::size_t processes = 0;
    std::vector<int> pids;
    Use use;
};

/// Groups users by the name that `name` returns; largest Pss first.
std::vector<UseGroup> grouped(const std::vector<User> &users, std::string (*name)(const User &));
Use total(const std::vector<User> &users);
Parts total_parts(const std::vector<User> &users);

/// How many more instances of a program fit into memory.
struct Headroom {
    core::Kilobytes each;     ///< expected cost of another instance: the mean Private_Dirty, rounded up
    core::Kilobytes largest;  ///< the largest Private_Dirty of an instance
    std::int64_t more = 0;    ///< how often `each` fits into MemAvailable
};
/// `users`: the instances of one program. nullopt if none has Private_Dirty, or if MemAvailable is unknown.
std::optional<Headroom> headroom_for(const std::vector<const User *> &users, const MemInfo &info);

/// One file or kind of memory over all processes.
struct FileUse {
    std::string name;
    std::size_t mappings = 0;
    std::map<int, Use> by_pid;  ///< key: the first PID of each User
    core::Kilobytes size;       ///< the largest sum of mapping sizes in one process
    Use use;
};

/// Adds the mappings of one user. Memory without a file has the kernel's name for it as its key ("[heap]").
void add(std::map<std::string, FileUse> &files, int pid, const std::vector<Mapping> &mappings);
/// The values of `files`, largest Pss first.
std::vector<FileUse> sorted(std::map<std::string, FileUse> &&files);

}  // namespace rsslag::procfs
