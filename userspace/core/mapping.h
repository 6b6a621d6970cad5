// SPDX-License-Identifier: BSD-2-Clause
// Mappings of a process: their changes, listings of them, and their names. Pure.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace rsslag::core {

/// Access and backing of a mapping, one bit each. Recordings contain these values, so they must not change.
enum MappingFlag : std::uint8_t {
    MappingRead = 1,
    MappingWrite = 2,
    MappingExecute = 4,
    MappingShared = 8,
    MappingGrowsDown = 16,
    MappingHugetlb = 32,
};

/// A range of addresses of an mm.
struct MappedRange {
    std::uint64_t start = 0, end = 0;  ///< end: the first address after the range
    std::uint8_t flags = 0;            ///< of MappingFlag, or-ed
    /// Raw bytes, as in /proc/PID/maps: a path, "[heap]", "[anon:NAME]"; empty: anonymous memory without a name.
    std::string name;
    // Only in a live trace; a recording does not contain them.
    std::uint64_t offset = 0;  ///< of the start in the file, in bytes
    std::uint64_t inode = 0;   ///< of the file; 0: not known
    std::uint64_t device = 0;  ///< of the file system, as device_number(); 0: not known
};

/// The numbers of a device, as one.
inline std::uint64_t device_number(std::uint32_t major, std::uint32_t minor) {
    return std::uint64_t{major} << 32 | minor;
}

/// The NT_GNU_BUILD_ID of an ELF file.
struct BuildId {
    static constexpr std::size_t kMost = 20;  ///< lib/buildid.c BUILD_ID_SIZE_MAX
    std::array<std::uint8_t, kMost> bytes{};
    std::uint8_t size = 0;  ///< 0: not known

    bool known() const { return size > 0; }
    friend auto operator<=>(const BuildId &, const BuildId &) = default;
};
/// In hexadecimal, two digits per byte: "1f6a…".
std::string hex(const BuildId &id);

/// One change, as the kernel reported it.
struct MappingChange {
    enum class Kind : std::uint8_t {
        Mapped,  ///< the range is mapped as given from now on (mmap, mprotect, brk, a growing stack)
        Exec,    ///< the following changes belong to the process's next program; no range
        Moved,   ///< from [old_start, old_end) to `range` (mremap); an empty old range: that from old_start on stays,
                 ///< too
        Named,   ///< by prctl(PR_SET_VMA_ANON_NAME); an empty name removes the name
        Lost,    ///< `lost` changes were lost, of unknown processes; no range
    };
    Kind kind = Kind::Mapped;
    std::uint64_t t_ns = 0;  ///< CLOCK_MONOTONIC
    int pid = 0, tid = 0;    ///< in rsslag's PID namespace
    MappedRange range;
    std::uint64_t old_start = 0, old_end = 0;
    std::uint64_t lost = 0;
    BuildId build_id{};  ///< Mapped: of the file
};

/// All mappings of a process at one moment.
struct MappingListing {
    struct Entry {
        MappedRange range;
        std::optional<Kilobytes> rss;  ///< nullopt: the page tables were not walked
    };
    std::uint64_t t_ns = 0;  ///< CLOCK_MONOTONIC, before the listing was read
    int pid = 0;             ///< in rsslag's PID namespace
    std::vector<Entry> entries;
    struct Stack {
        int tid = 0;  ///< in rsslag's PID namespace
        std::uint64_t pointer = 0;
    };
    /// Of threads that sleep in a system call; for others /proc does not show the stack pointer.
    std::vector<Stack> stacks;
};

/// Facts outside of a mapping that its name depends on.
struct MappingNeighbours {
    bool reserved_above = false;      ///< a private anonymous mapping without any access rights follows directly
    std::optional<int> stack_of_tid;  ///< TID of the thread whose stack the mapping contains; nullopt: none found
    /// How stack_of_tid was found. false: the thread's initial stack pointer is near the end of the mapping. true: the
    /// thread is the only one with a known stack pointer in the mapping.
    bool by_shape = false;
};

/// The name under which rsslag reports a mapping, raw bytes: the kernel's name (a path, "[heap]", "[anon:NAME]"),
/// "stack of thread 12", "stack of thread 12 ~", "shmem", "shmem /memfd:NAME", "hugetlb", "glibc arena ~", "JIT ~" or
/// "(anonymous)". A "~" at the end marks a guess from the shape of the mapping.
std::string mapping_name(const MappedRange &range, const MappingNeighbours &neighbours);

/// Adds the thread's name to the name of a stack, "stack of thread 12 worker-07 ~", if `comm_of` returns one. Returns
/// any other name unchanged.
std::string with_comm(std::string_view mapping, const std::function<std::optional<std::string>(int tid)> &comm_of);

/// Whether a thread with this initial stack pointer may have its stack here. The mapping must be writable private
/// anonymous memory without a name, and the pointer must be in its last MiB and in its second half.
bool may_be_stack(const MappedRange &range, std::uint64_t stack_pointer);

/// Access rights as /proc/PID/maps shows them: "rw-p".
std::string permissions(std::uint8_t flags);
/// The flags for "rw-p"; the inverse of permissions().
std::uint8_t mapping_flags(std::string_view permissions);

/// Whether a thread that has this stack pointer at any time may have its stack here. The mapping must be readable,
/// writable, not executable, private, anonymous and unnamed, and must contain the pointer.
bool may_hold_stack(const MappedRange &range, std::uint64_t stack_pointer);

/// mapping_name() of anonymous memory that is not recognised.
inline constexpr std::string_view kAnonymousMapping = "(anonymous)";

/// The name for pages at an address whose mapping is unknown, in growth by mapping.
inline constexpr std::string_view kUnknownMapping = "(unknown)";

}  // namespace rsslag::core
