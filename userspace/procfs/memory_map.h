// SPDX-License-Identifier: BSD-2-Clause
// Sums over the mappings of one process: by quadrant, in total, by name. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/mapping.h"
#include "procfs/files.h"
#include "procfs/system.h"

namespace rsslag::procfs {

/// The origin of the pages of a mapping.
enum class Backing : std::uint8_t {
    Anonymous,
    File,     ///< a file outside tmpfs
    Shmem,    ///< tmpfs: its files, memfds, System V and shared anonymous memory
    Hugetlb,  ///< huge pages of the pool, which RSS does not count
    Kernel,   ///< special mappings of the kernel: [vdso], [vvar], [vsyscall], …
    Unknown,  ///< a file on a device of no known mount
};

/// The devices of file systems, as smaps prints them.
struct Devices {
    std::string internal;  ///< the kernel's internal tmpfs: shared anonymous memory, System V, memfd
    std::set<std::string, std::less<>> tmpfs;
    std::set<std::string, std::less<>> others;
    /// The subset of `others` whose pages reclaim cannot free, because they are the only copy of the file. These are
    /// ramfs, rootfs, and file systems on persistent memory that are mounted with DAX.
    std::set<std::string, std::less<>> kept_in_memory{};
    /// The subset of `others` whose pages may be those of files of other file systems: overlayfs; FUSE with passthrough
    /// (6.9); EROFS, which may share pages between images (7.0).
    std::set<std::string, std::less<>> stacked{};
    /// The subset of `stacked` whose files must not be opened, since a program serves them, which may not answer.
    std::set<std::string, std::less<>> fuse{};
    /// The subset of `stacked` where several files may have the data of one: an overlay with layers of data alone.
    std::set<std::string, std::less<>> data_layers{};
    /// The subset of `others` where an inode number is that of several files, one in each subvolume or snapshot.
    std::set<std::string, std::less<>> subvolumes{};
    /// Device special files, by device and inode. Their pages are not those of the file system that has the node: a
    /// block device has a page cache of its own, and a driver provides the pages of a character device.
    std::set<std::pair<std::string, std::uint64_t>> block_nodes{}, character_nodes{};

    /// Adds the devices of `mounts`; pages of tmpfs and devtmpfs count as shmem (mm/shmem.c).
    void add(const std::vector<Mount> &mounts);
    bool is_block_node(const Mapping &mapping) const { return block_nodes.contains({mapping.device, mapping.inode}); }
    bool is_character_node(const Mapping &mapping) const {
        return character_nodes.contains({mapping.device, mapping.inode});
    }
    /// Whether the file system keeps its files in memory, so that a node in it must not be taken for one of these.
    bool in_memory(const Mapping &mapping) const {
        return tmpfs.contains(mapping.device) || kept_in_memory.contains(mapping.device);
    }
};

Backing backing_of(const Mapping &mapping, const Devices &devices);

/// Whether a file backs the mapping, including a memfd and a file on an unknown device.
bool has_file(const Mapping &mapping);
inline bool is_shared(const Mapping &mapping) {
    return mapping.perms.size() > 3 && mapping.perms[3] == 's';
}
inline bool is_writable(const Mapping &mapping) {
    return mapping.perms.size() > 1 && mapping.perms[1] == 'w';
}
/// Whether the mapping belongs to the mm. Only [vsyscall], which smaps lists, does not.
inline bool in_mm(const Mapping &mapping) {
    return mapping.name != "[vsyscall]";
}

/// Private or shared × anonymous or file-backed; kernel and hugetlb mappings are neither.
enum class Quadrant : std::uint8_t {
    PrivateAnonymous,
    PrivateFile,
    SharedAnonymous,  ///< on the internal tmpfs: MAP_SHARED | MAP_ANONYMOUS, System V, memfd
    SharedFile,
    Kernel,   ///< counted as file
    Hugetlb,  ///< counted by no member
};
inline constexpr std::array<Quadrant, 6> kQuadrants{Quadrant::PrivateAnonymous, Quadrant::PrivateFile,
                                                    Quadrant::SharedAnonymous,  Quadrant::SharedFile,
                                                    Quadrant::Kernel,           Quadrant::Hugetlb};
std::string_view name(Quadrant quadrant);

/// Sums over the mappings of a quadrant. anon is "Anonymous:" of smaps. The rest of Rss is shmem on tmpfs, `unplaced`
/// on an unknown device, and file otherwise. These four add up to `resident`.
struct QuadrantSum {
    std::size_t mappings = 0;
    core::Kilobytes size, resident, anon, file, shmem, unplaced, swap, hugetlb;

    QuadrantSum &operator+=(const QuadrantSum &other);
};

/// Resident pages of one mapping that may be file or shmem, as its device is unknown.
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

/// Classifies unknown devices by `shmem`, the process's total of that member: below an overlay, smaps prints a device
/// that no visible mount may have. If the pages on known devices already add up to `shmem`, all unplaced pages are
/// file. If the rest of `shmem` equals the unplaced pages, all of these are shmem. If it equals the pages on one
/// stacked device, or on all of them, these are shmem. Otherwise `devices` does not change.
void learn(Devices &devices, const std::vector<Mapping> &mappings, core::Kilobytes shmem);

/// Sums over all mappings except [vsyscall].
struct MapSums {
    std::size_t mappings = 0;
    core::Kilobytes size, rss, pss, shared_clean, shared_dirty, private_clean, private_dirty, swap, swap_pss, lazy_free,
        private_hugetlb, shared_hugetlb, hugetlb;
    /// Upper bounds of the memory that reclaim can free without a write (droppable.h).
    core::Kilobytes droppable_file, droppable_anon, droppable;
    bool droppable_each_once = true;  ///< Droppable::each_once
    /// A lower bound: `droppable` with each page once. Equal to it if `droppable_each_once`.
    core::Kilobytes droppable_surely_once;
    /// Rss of private writable mappings and stacks: the resident part of what DATA counts (data_vm + stack_vm).
    core::Kilobytes data_rss;

    core::Kilobytes shared_total() const { return shared_clean + shared_dirty; }
    core::Kilobytes private_total() const { return private_clean + private_dirty; }
};

/// Finds file pages of a process. Each of the two functions may be empty.
struct FilePages {
    struct Page {
        std::uint64_t address = 0;
        std::uint64_t frame = 0;  ///< its number; 0 without CAP_SYS_ADMIN
        bool exclusive = false;   ///< mapped exactly once
    };
    using Found = std::function<void(const Page &page)>;
    core::PageSize page_size;
    /// Calls `found` for each page that is present from `start` to `end`, by the entries of pagemap. Returns false if
    /// these cannot be read, or if they are too many; a few can be read after that.
    std::function<bool(std::uint64_t start, std::uint64_t end, const Found &found)> visit;
    /// The addresses of the mappings that have a page at one of the `offsets` (bytes) of the file that `mapping` maps.
    /// A mapping that has it by a PMD entry is found only if it is the first page of that entry. nullopt if that cannot
    /// be found out.
    std::function<std::optional<std::set<std::uint64_t>>(const Mapping &mapping,
                                                         const std::set<std::uint64_t> &offsets)>
        mappers{};
    /// What one entry of a page middle directory (PMD) maps, in bytes. 0: this kernel has no such entries.
    std::uint64_t pmd_bytes = 0;
    /// How many page faults the process has had. nullopt if that cannot be read.
    std::function<std::optional<std::uint64_t>()> faults{};
};

/// The sums over the mappings of a process. `pages` is used for file ranges that are mapped more than once.
MapSums sums(const std::vector<Mapping> &mappings, const Devices &devices, const FilePages &pages = {});

/// Sets `recognised` of unnamed private mappings to the name that core::mapping_name() infers from their shape. A stack
/// is a mapping that exactly one of the stack pointers points into.
void recognise(std::vector<Mapping> &mappings, const std::vector<core::MappingListing::Stack> &stacks);

/// Sums over the mappings of one name and kind. Writable private mappings of a file form a group of their own.
struct MapGroup {
    std::string name;  ///< raw; empty for anonymous memory that has no name and was not recognised
    bool shared = false;
    bool written_file = false;  ///< private, writable, of a file: e.g. the data of a library
    Backing backing = Backing::Anonymous;
    std::string perms;  ///< every permission that at least one of the mappings has
    std::size_t mappings = 0;
    core::Kilobytes size, rss, pss, clean, dirty, swap;
};

/// Identifies a group: its name, whether it is shared, written_file.
using GroupKey = std::tuple<std::string_view, bool, bool>;
/// Valid as long as its argument.
GroupKey key_of(const MapGroup &group);
GroupKey key_of(const Mapping &mapping);

/// Groups the mappings by name: private groups first, then shared ones, each by descending Rss.
std::vector<MapGroup> groups(const std::vector<Mapping> &mappings, const Devices &devices);

/// A group that has changed; nullopt on the side where it does not exist.
struct MapChange {
    std::optional<MapGroup> before, after;

    const MapGroup &either() const { return after ? *after : *before; }
    core::Kilobytes grown(core::Kilobytes MapGroup::*what) const;
};

/// The groups that differ, by descending absolute change of Rss, then of size.
std::vector<MapChange> changes(const std::vector<MapGroup> &before, const std::vector<MapGroup> &after);

}  // namespace rsslag::procfs
