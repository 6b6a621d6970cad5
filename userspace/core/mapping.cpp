// SPDX-License-Identifier: BSD-2-Clause
#include "core/mapping.h"

#include <array>
#include <charconv>

namespace rsslag::core {
namespace {

/// HEAP_MAX_SIZE of glibc's malloc/arena.c on 64 bits: arenas except the first start at a multiple of it. The used part
/// is writable, the rest is reserved.
constexpr std::uint64_t kArenaBytes = std::uint64_t{64} << 20;

constexpr std::uint8_t kAccess = MappingRead | MappingWrite | MappingExecute;

bool is_anonymous(const MappedRange &range) {
    return range.name.empty() && (range.flags & MappingShared) == 0;
}

bool is_arena(const MappedRange &range, const MappingNeighbours &neighbours) {
    if ((range.flags & kAccess) != (MappingRead | MappingWrite)) return false;
    if (range.start % kArenaBytes != 0 || range.end - range.start > kArenaBytes) return false;
    return neighbours.reserved_above || range.end - range.start == kArenaBytes;
}

/// Shared anonymous memory, System V and memfd as d_path() shows them (mm/shmem.c), with " (deleted)" at the end.
bool is_shmem(std::string_view name) {
    constexpr std::array<std::string_view, 3> kPrefixes{"/dev/zero (deleted)", "/SYSV", "/memfd:"};
    for (const std::string_view prefix : kPrefixes)
        if (name.starts_with(prefix)) return true;
    return false;
}

}  // namespace

std::string hex(const BuildId &id) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < id.size; ++i) {
        text += kDigits[id.bytes[i] >> 4];
        text += kDigits[id.bytes[i] & 15U];
    }
    return text;
}

bool may_be_stack(const MappedRange &range, std::uint64_t stack_pointer) {
    // Above the first stack frame are the C library's data of the thread and its thread-local variables.
    constexpr std::uint64_t kBehind = std::uint64_t{1} << 20;
    if (!is_anonymous(range) || (range.flags & MappingWrite) == 0) return false;
    return stack_pointer > range.start && stack_pointer <= range.end && range.end - stack_pointer < kBehind &&
           stack_pointer - range.start >= (range.end - range.start) / 2;
}

bool may_hold_stack(const MappedRange &range, std::uint64_t stack_pointer) {
    return is_anonymous(range) && (range.flags & kAccess) == (MappingRead | MappingWrite) &&
           stack_pointer > range.start && stack_pointer <= range.end;
}

std::string mapping_name(const MappedRange &range, const MappingNeighbours &neighbours) {
    if ((range.flags & MappingHugetlb) != 0 || range.name.starts_with("/anon_hugepage")) return "hugetlb";
    if (is_shmem(range.name)) {
        const bool unnamed = range.name.starts_with("/dev/zero");
        return unnamed ? "shmem" : "shmem " + range.name.substr(0, range.name.find(" (deleted)"));
    }
    if (!range.name.empty()) return range.name;
    if ((range.flags & MappingShared) != 0) return "shmem";
    if (neighbours.stack_of_tid)
        return "stack of thread " + std::to_string(*neighbours.stack_of_tid) + (neighbours.by_shape ? " ~" : "");
    if (is_arena(range, neighbours)) return "glibc arena ~";
    if ((range.flags & MappingExecute) != 0) return "JIT ~";
    return std::string(kAnonymousMapping);
}

std::string with_comm(std::string_view mapping, const std::function<std::optional<std::string>(int tid)> &comm_of) {
    constexpr std::string_view kStack = "stack of thread ";
    std::string whole(mapping);
    if (!mapping.starts_with(kStack)) return whole;
    int tid = 0;
    const char *const last = mapping.data() + mapping.size();
    const auto [end, error] = std::from_chars(mapping.data() + kStack.size(), last, tid);
    const std::string_view rest(end, static_cast<std::size_t>(last - end));
    if (error != std::errc() || (!rest.empty() && rest != " ~")) return whole;
    const auto comm = comm_of(tid);
    if (!comm || comm->empty()) return whole;
    return whole.substr(0, mapping.size() - rest.size()) + " " + *comm + std::string(rest);
}

std::string permissions(std::uint8_t flags) {
    std::string text = "---p";
    if ((flags & MappingRead) != 0) text[0] = 'r';
    if ((flags & MappingWrite) != 0) text[1] = 'w';
    if ((flags & MappingExecute) != 0) text[2] = 'x';
    if ((flags & MappingShared) != 0) text[3] = 's';
    return text;
}

std::uint8_t mapping_flags(std::string_view permissions) {
    constexpr std::string_view kLetters = "rwxs";
    std::uint8_t flags = 0;
    for (std::size_t i = 0; i < kLetters.size() && i < permissions.size(); ++i)
        if (permissions[i] == kLetters[i]) flags |= static_cast<std::uint8_t>(1U << i);
    return flags;
}

}  // namespace rsslag::core
