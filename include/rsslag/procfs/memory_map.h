// SPDX-License-Identifier: BSD-2-Clause
// What the mappings of one process come to: quadrants, sums, groups by name. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/core/mapping.h"
#include "rsslag/procfs/files.h"
#include "rsslag/procfs/system.h"

namespace rsslag::procfs {

/// Where the pages of a mapping come from.
enum class Backing : std::uint8_t {
    Anonymous,
    File,     ///< a file that is not in memory only
    Shmem,    ///< tmpfs: a file there, a memfd, System V, shared anonymous memory
    Hugetlb,  ///< huge pages of the pool, which RSS does not count
    Kernel,   ///< the kernel's own: [vdso], [vvar], [vsyscall]
    Unknown,  ///< a file of a file system that is mounted nowhere in sight
};

/// The devices of file systems, as smaps writes them.
struct Devices {
    std::string internal;  ///< of the kernel's own tmpfs: shared anonymous memory, System V, memfd
    std::set<std::string, std::less<>> tmpfs;
    std::set<std::string, std::less<>> others;
    /// Of `others`, those whose pages are the files themselves and stay: ramfs, and files that are mapped from a
    /// persistent memory (DAX).
    std::set<std::string, std::less<>> kept_in_memory{};

    /// Takes in the mounts; tmpfs and devtmpfs count as shmem (mm/shmem.c).
    void add(const std::vector<Mount> &mounts);
};

Backing backing_of(const Mapping &mapping, const Devices &devices);

/// Whether there is a file behind it, in sight or not; a private mapping of a memfd has one.
bool has_file(const Mapping &mapping);
inline bool is_shared(const Mapping &mapping) {
    return mapping.perms.size() > 3 && mapping.perms[3] == 's';
}
inline bool is_writable(const Mapping &mapping) {
    return mapping.perms.size() > 1 && mapping.perms[1] == 'w';
}
/// [vsyscall] is in smaps and in no mm.
inline bool in_mm(const Mapping &mapping) {
    return mapping.name != "[vsyscall]";
}

/// Private or shared × anonymous or file-backed, and what is neither.
enum class Quadrant : std::uint8_t {
    PrivateAnonymous,
    PrivateFile,
    SharedAnonymous,  ///< shmem without a file in sight: MAP_SHARED | MAP_ANONYMOUS, System V, memfd
    SharedFile,
    Kernel,   ///< counted as file
    Hugetlb,  ///< counted by no member
};
inline constexpr std::array<Quadrant, 6> kQuadrants{Quadrant::PrivateAnonymous, Quadrant::PrivateFile,
                                                    Quadrant::SharedAnonymous,  Quadrant::SharedFile,
                                                    Quadrant::Kernel,           Quadrant::Hugetlb};
std::string_view name(Quadrant quadrant);

/// anon is what smaps calls Anonymous; the rest of Rss is shmem on tmpfs and file elsewhere. What cannot be told from
/// the other is `unplaced`. Their sum is `resident`.
struct QuadrantSum {
    std::size_t mappings = 0;
    core::Kilobytes size, resident, anon, file, shmem, unplaced, swap, hugetlb;

    QuadrantSum &operator+=(const QuadrantSum &other);
};

/// Resident pages of one mapping that cannot be said to be file or shmem, with the reason.
struct Unplaced {
    std::string name;  ///< raw
    std::uint64_t start = 0;
    core::Kilobytes resident;
};

struct Quadrants {
    std::array<QuadrantSum, kQuadrants.size()> sums;
    std::vector<Unplaced> unplaced;

    const QuadrantSum &operator[](Quadrant quadrant) const { return sums[static_cast<std::size_t>(quadrant)]; }
    QuadrantSum total() const;
};

Quadrants quadrants(const std::vector<Mapping> &mappings, const Devices &devices);

/// Below an overlay, smaps names a device that may be mounted nowhere in sight. Where all of `shmem`, what the process
/// has of that member, is already accounted for, each such page is of a file; where none of the unplaced pages can be
/// of a file, each is shmem. Else nothing is learnt.
void learn(Devices &devices, const std::vector<Mapping> &mappings, core::Kilobytes shmem);

/// The sums of the smaps script. [vsyscall] is left out.
struct MapSums {
    std::size_t mappings = 0;
    core::Kilobytes size, rss, pss, shared_clean, shared_dirty, private_clean, private_dirty, swap, swap_pss, lazy_free,
        private_hugetlb, shared_hugetlb, hugetlb;
    /// What reclaim can take without a write, at most (droppable.h): of files, and anonymous.
    core::Kilobytes droppable_file, droppable_anon, droppable;
    /// Of private writable mappings and stacks, which is what DATA reserves.
    core::Kilobytes data_rss;

    core::Kilobytes shared_total() const { return shared_clean + shared_dirty; }
    core::Kilobytes private_total() const { return private_clean + private_dirty; }
};

/// Which pages of files are present, by pagemap's entries. visit() calls `found` with the address of each from `start`
/// to `end`; false where that cannot be found out. It may be missing.
struct FilePages {
    core::PageSize page_size;
    std::function<bool(std::uint64_t start, std::uint64_t end, const std::function<void(std::uint64_t)> &found)> visit;
};

/// `pages` is asked for ranges of files that are mapped more than once.
MapSums sums(const std::vector<Mapping> &mappings, const Devices &devices, const FilePages &pages = {});

/// Says of anonymous memory without a name what core::mapping_name() takes it for, all of it by its shape alone: a
/// stack by a stack pointer into it.
void recognise(std::vector<Mapping> &mappings, const std::vector<core::MappingListing::Stack> &stacks);

/// Mappings of one name and kind. Writable private mappings of a file stand apart from the rest of that file.
struct MapGroup {
    std::string name;  ///< raw; empty for anonymous memory that has no name and was not recognised
    bool shared = false;
    bool written_file = false;  ///< private, writable, of a file: the data of a library
    Backing backing = Backing::Anonymous;
    std::string perms;  ///< what any of them allows
    std::size_t mappings = 0;
    core::Kilobytes size, rss, pss, clean, dirty, swap;
};

/// Private ones first, each kind largest Rss first.
std::vector<MapGroup> groups(const std::vector<Mapping> &mappings, const Devices &devices);

/// A group that is not as it was; one of the two sides may be missing.
struct MapChange {
    std::optional<MapGroup> before, after;

    const MapGroup &either() const { return after ? *after : *before; }
    core::Kilobytes grown(core::Kilobytes MapGroup::*what) const;
};

/// Largest change of Rss, then of size, first.
std::vector<MapChange> changes(const std::vector<MapGroup> &before, const std::vector<MapGroup> &after);

}  // namespace rsslag::procfs
