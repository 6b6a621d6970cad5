// SPDX-License-Identifier: BSD-2-Clause
// Mappings of a process: how they change, what they are at one moment, and what each is called. Pure.
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

#include "rsslag/core/units.h"

namespace rsslag::core {

/// What a mapping allows and how it is backed, a bit each; as a recording has them.
enum MappingFlag : std::uint8_t {
    MappingRead = 1,
    MappingWrite = 2,
    MappingExecute = 4,
    MappingShared = 8,
    MappingGrowsDown = 16,
    MappingHugetlb = 32,
};

/// A range of addresses as the kernel has it.
struct MappedRange {
    std::uint64_t start = 0, end = 0;  ///< end: the first address behind it
    std::uint8_t flags = 0;            ///< MappingFlag
    /// Raw, as /proc/PID/maps has it: a path, "[heap]", "[anon:NAME]"; empty: anonymous memory without a name.
    std::string name;
};

/// Of an ELF file (NT_GNU_BUILD_ID).
struct BuildId {
    static constexpr std::size_t kMost = 20;  ///< lib/buildid.c BUILD_ID_SIZE_MAX
    std::array<std::uint8_t, kMost> bytes{};
    std::uint8_t size = 0;  ///< 0: nobody told of one

    bool known() const { return size > 0; }
    friend auto operator<=>(const BuildId &, const BuildId &) = default;
};
/// "1f6a…", two digits a byte.
std::string hex(const BuildId &id);

/// One change, as the kernel told of it.
struct MappingChange {
    enum class Kind : std::uint8_t {
        Mapped,  ///< what the range holds from now on (mmap, mprotect, brk, a stack that grows)
        Exec,    ///< what comes next is of a new program; no range
        Moved,   ///< from `old_start` on, `old_end` is behind it (mremap)
        Named,   ///< by prctl(PR_SET_VMA_ANON_NAME); an empty name takes the name away
        Lost,    ///< so many changes, of whichever process; no range
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
    std::uint64_t t_ns = 0;  ///< CLOCK_MONOTONIC, before it was read
    int pid = 0;             ///< in rsslag's PID namespace
    std::vector<Entry> entries;
    struct Stack {
        int tid = 0;  ///< in rsslag's PID namespace
        std::uint64_t pointer = 0;
    };
    std::vector<Stack> stacks;  ///< of threads that sleep in a system call, which is where /proc tells
};

/// What tells what a mapping is beyond its own range.
struct MappingNeighbours {
    bool reserved_behind = false;     ///< a private anonymous mapping that allows nothing follows at once
    std::optional<int> stack_of_tid;  ///< the thread that began with its stack pointer near the end of it, or …
    bool by_shape = false;            ///< … that has it somewhere there
};

/// "[heap]", "libc.so.6" by its whole path, "[anon:NAME]", "stack of thread 12", "stack of thread 12 ~", "shmem",
/// "hugetlb", "glibc arena ~", "JIT ~", "(anonymous)". What is recognised by its shape alone ends with "~". Raw bytes.
std::string mapping_name(const MappedRange &range, const MappingNeighbours &neighbours);

/// A stack with the name of its thread, "stack of thread 12 worker-07 ~", where `comm_of` knows it; others as they are.
std::string with_comm(std::string_view mapping, const std::function<std::optional<std::string>(int tid)> &comm_of);

/// Whether the stack pointer that a thread began with makes this the thread's stack: near the end of private anonymous
/// memory that can be written.
bool may_be_stack(const MappedRange &range, std::uint64_t stack_pointer);

/// "rw-p".
std::string permissions(std::uint8_t flags);
std::uint8_t mapping_flags(std::string_view permissions);

/// Whether a stack pointer that a thread has at some time may be into its stack.
bool may_hold_stack(const MappedRange &range, std::uint64_t stack_pointer);

/// What mapping_name() says of memory that nothing is known of.
inline constexpr std::string_view kAnonymousMapping = "(anonymous)";

/// What rows of growth by mapping are called that are of no mapping that is known.
inline constexpr std::string_view kUnknownMapping = "(unknown)";

}  // namespace rsslag::core
