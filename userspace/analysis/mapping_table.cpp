// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/mapping_table.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace rsslag::analysis {
namespace {

using core::MappedRange;
using core::MappingChange;

/// Limit on the mappings of all processes together, as a file may contain any number. Linux lets one process have
/// 65,530 by default.
constexpr std::size_t kMostEntries = std::size_t{1} << 20;

/// A change of a few bytes may concern all mappings. So the number of visited entries is limited: to a fixed number,
/// and this many more for each change. A file that exceeds the limit is probably forged. If not, names may be outdated
/// until the next listing.
constexpr std::uint64_t kLookedAtFirst = std::uint64_t{1} << 22;
constexpr std::uint64_t kLookedAtEach = 1024;

/// Limit on the bytes of all names, raw and shown.
constexpr std::size_t kMostNameBytes = std::size_t{64} << 20;

/// Limit on the known pieces that one merged range is compared with. All of them together have a limit of the same kind
/// as above.
constexpr int kMostMerged = 4096;
constexpr std::uint64_t kMergedFirst = std::uint64_t{1} << 25;

/// The largest distance of brk from the end of the program (arch_randomize_brk(), 32 MiB or 1 GiB). The kernel maps
/// nothing else there, unless an address was requested.
constexpr std::uint64_t kBrkWithin = (std::uint64_t{1} << 30) + (std::uint64_t{64} << 20);

constexpr const char *kHeap = "[heap]";

bool is_private_anonymous(std::string_view raw, std::uint8_t flags) {
    return raw.empty() && (flags & core::MappingShared) == 0;
}

/// Threads whose stack may be in the range, by their stack pointers; at most two. A range may hold either all pointers
/// within it or none.
void find_stacks(const std::map<std::uint64_t, int> &pointers, const MappedRange &range, std::vector<int> &tids) {
    auto at = pointers.upper_bound(range.start);
    for (; at != pointers.end() && tids.size() < 2 && core::may_hold_stack(range, at->first); ++at)
        tids.push_back(at->second);
}

}  // namespace

void MappingTable::Stacks::set(std::uint64_t pointer, int tid) {
    erase(tid);
    const auto [at, fresh] = by_pointer_.try_emplace(pointer, tid);
    if (!fresh) of_tid_.erase(std::exchange(at->second, tid));
    of_tid_[tid] = pointer;
}

std::optional<std::uint64_t> MappingTable::Stacks::erase(int tid) {
    const auto found = of_tid_.find(tid);
    if (found == of_tid_.end()) return std::nullopt;
    const std::uint64_t pointer = found->second;
    by_pointer_.erase(pointer);
    of_tid_.erase(found);
    return pointer;
}

void MappingTable::Stacks::clear() {
    by_pointer_.clear();
    of_tid_.clear();
}

/// Whether that many more entries may be visited.
bool MappingTable::affords(std::size_t pieces) {
    looked_at_ += pieces;
    return looked_at_ <= kLookedAtFirst + kLookedAtEach * changes_seen_;
}

/// The kernel reports private anonymous memory after merging it with its neighbours, for example a stack with a heap.
/// Returns the end of the new part: the part behind it was reported before.
std::uint64_t MappingTable::end_of_new_part(const Entries &entries, const MappedRange &range) {
    std::uint64_t end = range.end;
    int pieces = 0;
    for (auto at = entries.lower_bound(end); at != entries.begin() && pieces < kMostMerged; ++pieces) {
        if (++merged_ > kMergedFirst + kLookedAtEach * changes_seen_) break;
        const auto &[start, known] = *--at;
        const bool same = is_private_anonymous(known.raw, known.flags) && known.flags == range.flags;
        if (!same || start <= range.start || known.end < end) break;
        end = start;
    }
    return end;
}

MappingTable::Space &MappingTable::space_of(int pid) {
    SpacePtr &space = spaces_[pid];
    if (!space) space = std::make_shared<Space>();
    return *space;
}

/// The space of the next program if an exec is in progress, else the current one.
MappingTable::Space &MappingTable::changing(int pid) {
    const auto next = next_.find(pid);
    return next != next_.end() ? *next->second : space_of(pid);
}

/// A name beyond the limit is replaced by kUnknownMapping.
std::string_view MappingTable::kept(std::string_view name) {
    const auto known = names_.find(name);
    if (known != names_.end()) return *known;
    if (names_bytes_ + name.size() > kMostNameBytes) return core::kUnknownMapping;
    names_bytes_ += name.size();
    return *names_.emplace(name).first;
}

MappingTable::Entry MappingTable::entry_of(const MappedRange &range) {
    return {range.end, range.name.empty() ? std::string_view() : kept(range.name), {}, range.flags};
}

MappingTable::Entries::iterator MappingTable::put(Space &space, std::uint64_t start, const Entry &entry) {
    ++entries_;
    return space.entries.emplace(start, entry).first;
}

/// Subtracts the space from the total.
void MappingTable::forget(const Space &space) {
    entries_ -= std::min(entries_, space.entries.size());
}

/// Removes the range; mappings that overlap its borders are cut there.
void MappingTable::clear(Space &space, std::uint64_t start, std::uint64_t end) {
    auto &entries = space.entries;
    auto at = entries.upper_bound(start);
    if (at != entries.begin() && std::prev(at)->second.end > start) --at;
    while (at != entries.end() && at->first < end) {
        const auto [old_start, old] = *at;
        at = entries.erase(at);
        --entries_;
        for (const auto &[from, to] : {std::pair(old_start, start), std::pair(end, old.end)})
            if (from < to) at = std::next(put(space, from, {to, old.raw, {}, old.flags}));
    }
}

/// The name of a mapping may depend on the mapping behind it.
void MappingTable::forget_names_near(Space &space, std::uint64_t start, std::uint64_t end) const {
    auto at = space.entries.lower_bound(start);
    if (at != space.entries.begin()) --at;
    for (; at != space.entries.end() && at->first <= end; ++at)
        at->second.name = {};
}

/// The first piece of brk has no name of its own yet (kernel/events/core.c perf_event_mmap_event(), called before
/// mm->brk is moved). During an exec such memory is .bss.
void MappingTable::map(int pid, MappedRange range) {
    Space &space = changing(pid);
    const bool behind =
        space.program_end != 0 && range.start >= space.program_end && range.start - space.program_end < kBrkWithin;
    const bool writable = (range.flags & core::MappingWrite) != 0;
    const bool anonymous = is_private_anonymous(range.name, range.flags);
    if (anonymous && writable && behind && !space.has_heap && !next_.contains(pid))
        range.name = kHeap;
    else if (anonymous)
        range.end = end_of_new_part(space.entries, range);
    insert(space, range.start, entry_of(range));
}

void MappingTable::insert(Space &space, std::uint64_t start, const Entry &entry) {
    if (start >= entry.end || entries_ >= kMostEntries) return;
    clear(space, start, entry.end);
    const bool file = entry.raw.starts_with('/');
    if (file && (space.program_end == 0 || start == space.program_end)) space.program_end = entry.end;
    space.has_heap = space.has_heap || entry.raw == kHeap;
    put(space, start, entry);
    forget_names_near(space, start, entry.end);
}

void MappingTable::move(Space &space, const MappingChange &change) {
    const std::uint64_t length = change.range.end - std::min(change.range.start, change.range.end);
    const bool stays = change.old_end <= change.old_start;
    const std::uint64_t old_length = stays ? length : change.old_end - change.old_start;
    std::vector<std::pair<std::uint64_t, Entry>> moved;
    auto at = space.entries.upper_bound(change.old_start);
    if (at != space.entries.begin()) --at;
    for (; at != space.entries.end() && affords(1); ++at) {
        const auto &[start, old] = *at;
        const std::uint64_t from = std::max(start, change.old_start) - change.old_start;
        if (old.end <= change.old_start) continue;
        if (start > change.old_start && from >= std::min(old_length, length)) break;
        const std::uint64_t to = std::min({old.end - change.old_start, old_length, length});
        moved.push_back({change.range.start + from, {change.range.start + to, old.raw, {}, old.flags}});
    }
    if (moved.empty()) moved.push_back({change.range.start, entry_of(change.range)});
    moved.back().second.end = change.range.end;  // it may grow
    if (!stays) clear(space, change.old_start, change.old_end);
    for (const auto &[start, entry] : moved)
        insert(space, start, entry);
}

/// Only private anonymous memory, named before or not, can get a name (mm/madvise.c madvise_set_anon_name()).
void MappingTable::name(Space &space, const MappedRange &range) {
    std::vector<std::pair<std::uint64_t, Entry>> named;
    const std::string_view raw = entry_of(range).raw;
    auto at = space.entries.upper_bound(range.start);
    if (at != space.entries.begin()) --at;
    for (; at != space.entries.end() && at->first < range.end; ++at) {
        if (!affords(1)) break;
        const auto &[start, old] = *at;
        if (old.end <= range.start) continue;
        if (!old.raw.empty() && !old.raw.starts_with("[anon:")) continue;
        named.push_back({std::max(start, range.start), {std::min(old.end, range.end), raw, {}, old.flags}});
    }
    for (const auto &[start, entry] : named)
        insert(space, start, entry);
}

/// Drops the mappings of an earlier exec that failed.
void MappingTable::begin_program(int pid) {
    SpacePtr &next = next_[pid];
    if (next) forget(*next);
    next = std::make_shared<Space>();
}

void MappingTable::change(const MappingChange &change) {
    changes_seen_++;
    switch (change.kind) {
        case MappingChange::Kind::Mapped: return map(change.pid, change.range);
        case MappingChange::Kind::Exec: return begin_program(change.pid);
        case MappingChange::Kind::Moved: return move(changing(change.pid), change);
        case MappingChange::Kind::Named: return name(changing(change.pid), change.range);
        case MappingChange::Kind::Lost: return;  // names may be outdated until the next listing
    }
}

/// Takes the stack pointers of threads whose start was not recorded. A thread that is running now has none in the
/// listing, but its stack is where it was.
void MappingTable::list_stacks(Space &space, const core::MappingListing &listing) const {
    constexpr std::size_t kMost = 65'536;
    if (space.listed.by_pointer().size() > kMost) space.listed.clear();
    for (const core::MappingListing::Stack &stack : listing.stacks)
        if (!space.stacks.has(stack.tid)) space.listed.set(stack.pointer, stack.tid);
}

void MappingTable::list(const core::MappingListing &listing) {
    Space &space = changing(listing.pid);
    forget(space);
    space.entries.clear();
    space.program_end = 0;
    space.has_heap = false;
    for (const core::MappingListing::Entry &entry : listing.entries)
        insert(space, entry.range.start, entry_of(entry.range));
    list_stacks(space, listing);
}

void MappingTable::exec(int pid) {
    const auto next = next_.extract(pid);
    exit(pid);
    spaces_[pid] = next.empty() ? std::make_shared<Space>() : next.mapped();
}

void MappingTable::fork(int parent, int child, bool shares) {
    const auto found = spaces_.find(parent);
    if (found == spaces_.end() || parent == child) return;
    const SpacePtr space = found->second;
    exit(child);
    if (shares) {
        spaces_[child] = space;
        return;
    }
    changes_seen_++;
    if (entries_ + space->entries.size() > kMostEntries) return;
    if (!affords(space->entries.size())) return;
    entries_ += space->entries.size();
    spaces_[child] = std::make_shared<Space>(*space);
}

void MappingTable::exit(int pid) {
    if (const auto next = next_.extract(pid)) forget(*next.mapped());
    const auto found = spaces_.find(pid);
    if (found == spaces_.end()) return;
    if (found->second.use_count() == 1) forget(*found->second);
    spaces_.erase(found);
}

void MappingTable::thread_begins(int pid, int tid, std::uint64_t stack_pointer) {
    if (stack_pointer == 0) return;
    Space &space = space_of(pid);
    end_stack(space, space.listed, tid);
    space.stacks.set(stack_pointer, tid);
    forget_names_near(space, stack_pointer, stack_pointer);
}

/// Another thread may reuse the stack soon. The growth by this thread until now stays under its own name.
void MappingTable::thread_ends(int pid, int tid) {
    const auto found = spaces_.find(pid);
    if (found == spaces_.end()) return;
    end_stack(*found->second, found->second->stacks, tid);
    end_stack(*found->second, found->second->listed, tid);
}

void MappingTable::end_stack(Space &space, Stacks &stacks, int tid) const {
    if (const auto pointer = stacks.erase(tid)) forget_names_near(space, *pointer, *pointer);
}

/// A mapping that holds several stack pointers is a heap that stacks were allocated from.
void MappingTable::find_stack(const Space &space, const MappedRange &range, core::MappingNeighbours &neighbours) {
    const auto &pointers = space.stacks.by_pointer();
    const auto pointer = pointers.upper_bound(range.end);
    if (pointer != pointers.begin() && core::may_be_stack(range, std::prev(pointer)->first)) {
        neighbours.stack_of_tid = std::prev(pointer)->second;
        return;
    }
    std::vector<int> tids;
    find_stacks(pointers, range, tids);
    find_stacks(space.listed.by_pointer(), range, tids);
    if (tids.size() != 1) return;
    neighbours.stack_of_tid = tids.front();
    neighbours.by_shape = true;
}

std::string_view MappingTable::name_in(const Space &space, const MappedRange &range) {
    core::MappingNeighbours neighbours;
    const auto behind = space.entries.lower_bound(range.end);
    neighbours.reserved_above = behind != space.entries.end() && behind->first == range.end &&
                                behind->second.raw.empty() && behind->second.flags == 0;
    find_stack(space, range, neighbours);
    return kept(core::mapping_name(range, neighbours));
}

MappedRange MappingTable::range_of(const Entries::value_type &entry) {
    return {entry.first, entry.second.end, entry.second.flags, std::string(entry.second.raw)};
}

std::string_view MappingTable::name_at(int pid, std::uint64_t address) {
    const auto found = spaces_.find(pid);
    if (found == spaces_.end()) return core::kUnknownMapping;
    auto &entries = found->second->entries;
    auto at = entries.upper_bound(address);
    if (at == entries.begin() || (--at)->second.end <= address) return core::kUnknownMapping;
    Entry &entry = at->second;
    if (entry.name.empty()) entry.name = name_in(*found->second, range_of(*at));
    return entry.name;
}

std::optional<std::uint8_t> MappingTable::flags_at(int pid, std::uint64_t address) {
    const auto &entries = changing(pid).entries;
    auto at = entries.upper_bound(address);
    if (at == entries.begin() || (--at)->second.end <= address) return std::nullopt;
    return at->second.flags;
}

bool MappingTable::contains(int pid, const MappedRange &range) const {
    constexpr std::uint8_t kBacking = core::MappingShared | core::MappingHugetlb;
    const auto next = next_.find(pid);
    const auto found = next != next_.end() ? next : spaces_.find(pid);
    if (range.name.empty() || (next == next_.end() && found == spaces_.end())) return false;
    const auto &entries = found->second->entries;
    auto at = entries.upper_bound(range.start);
    if (at == entries.begin()) return false;
    std::uint64_t reached = range.start;
    for (--at; at != entries.end() && at->first <= reached && reached < range.end; ++at) {
        const Entry &known = at->second;
        if (known.raw != range.name || ((known.flags ^ range.flags) & kBacking) != 0) return false;
        reached = std::max(reached, known.end);
    }
    return reached >= range.end;
}

std::string_view MappingTable::name_of(int pid, const MappedRange &range) {
    Space &space = changing(pid);
    const auto at = space.entries.find(range.start);
    return name_in(space, at != space.entries.end() ? range_of(*at) : range);
}

}  // namespace rsslag::analysis
