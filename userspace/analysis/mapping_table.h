// SPDX-License-Identifier: BSD-2-Clause
// The mappings of processes over time. Changes must be added in the order of time. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/mapping.h"

namespace rsslag::analysis {

/// The mappings of every process, by its PID in rsslag's PID namespace. Unmapping is not reported, so an address keeps
/// its last name until something else is mapped there.
class MappingTable {
  public:
    void change(const core::MappingChange &change);
    /// Replaces all mappings of the process.
    void list(const core::MappingListing &listing);

    /// Process `pid` has run exec: its mappings are those added since MappingChange::Kind::Exec.
    void exec(int pid);
    /// `shares`: the child shares the parent's address space.
    void fork(int parent, int child, bool shares);
    /// Whether the process is in an exec, so that changes belong to its next program.
    bool in_exec(int pid) const { return next_.contains(pid); }
    void exit(int pid);
    /// A new thread and its initial stack pointer; 0: unknown.
    void thread_begins(int pid, int tid, std::uint64_t stack_pointer);
    void thread_ends(int pid, int tid);

    /// Whether the whole range is already known under the same name, so that a change that maps it has no effect:
    /// segments of a library, mprotect. False for memory without a name, whose name depends on its shape.
    bool contains(int pid, const core::MappedRange &range) const;

    /// The name of the mapping at an address, valid as long as the table; core::kUnknownMapping if no mapping is known
    /// there.
    std::string_view name_at(int pid, std::uint64_t address);
    /// The flags of the mapping at an address; nullopt: no mapping is known there.
    std::optional<std::uint8_t> flags_at(int pid, std::uint64_t address);
    /// The name of a whole range as it is now, for a row about its change.
    std::string_view name_of(int pid, const core::MappedRange &range);

  private:
    struct Entry {
        std::uint64_t end = 0;
        std::string_view raw;   ///< MappedRange::name
        std::string_view name;  ///< empty: not computed yet
        std::uint8_t flags = 0;
    };
    using Entries = std::map<std::uint64_t, Entry>;  ///< by start
    /// Maps stack pointers to threads; each thread has one.
    class Stacks {
      public:
        void set(std::uint64_t pointer, int tid);
        /// Removes the thread and returns its stack pointer; nullopt: it had none.
        std::optional<std::uint64_t> erase(int tid);
        bool has(int tid) const { return of_tid_.contains(tid); }
        void clear();
        const std::map<std::uint64_t, int> &by_pointer() const { return by_pointer_; }

      private:
        std::map<std::uint64_t, int> by_pointer_;
        std::unordered_map<int, std::uint64_t> of_tid_;
    };
    /// The mappings of one address space.
    struct Space {
        Entries entries;
        Stacks stacks;                  ///< initial stack pointers
        Stacks listed;                  ///< stack pointers in listings, of threads not in `stacks`
        std::uint64_t program_end = 0;  ///< end of the program's own file; 0: unknown
        bool has_heap = false;          ///< brk has been called
    };
    using SpacePtr = std::shared_ptr<Space>;

    Space &space_of(int pid);
    Space &changing(int pid);
    void map(int pid, core::MappedRange range);
    void clear(Space &space, std::uint64_t start, std::uint64_t end);
    void insert(Space &space, std::uint64_t start, const Entry &entry);
    Entry entry_of(const core::MappedRange &range);
    static core::MappedRange range_of(const Entries::value_type &entry);
    void move(Space &space, const core::MappingChange &change);
    void name(Space &space, const core::MappedRange &range);
    void list_stacks(Space &space, const core::MappingListing &listing) const;
    void end_stack(Space &space, Stacks &stacks, int tid) const;
    bool affords(std::size_t pieces);
    std::uint64_t end_of_new_part(const Entries &entries, const core::MappedRange &range);
    void forget_names_near(Space &space, std::uint64_t start, std::uint64_t end) const;
    static void find_stack(const Space &space, const core::MappedRange &range, core::MappingNeighbours &neighbours);
    std::string_view name_in(const Space &space, const core::MappedRange &range);
    std::string_view kept(std::string_view name);
    Entries::iterator put(Space &space, std::uint64_t start, const Entry &entry);
    void forget(const Space &space);
    void begin_program(int pid);

    std::unordered_map<int, SpacePtr> spaces_;
    std::unordered_map<int, SpacePtr> next_;  ///< by PID; of programs whose exec is under way
    std::set<std::string, std::less<>> names_;
    std::size_t entries_ = 0;         ///< in all spaces, approximately
    std::size_t names_bytes_ = 0;     ///< size of the names in names_
    std::uint64_t changes_seen_ = 0;  ///< changes and forks so far, each of which may be expensive
    std::uint64_t looked_at_ = 0;     ///< entries visited for these changes and forks
    std::uint64_t merged_ = 0;        ///< entries visited to find the new parts of merged ranges
};

}  // namespace rsslag::analysis
