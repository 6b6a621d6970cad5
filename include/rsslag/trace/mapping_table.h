// SPDX-License-Identifier: BSD-2-Clause
// What was mapped at an address of a process at a time. Fed in the order of time; pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "rsslag/core/mapping.h"

namespace rsslag::trace {

/// The mappings of every process, by its PID in rsslag's PID namespace. What takes the place of a mapping takes its
/// name away at once, though nobody tells when something is unmapped: what was there last keeps its name until then.
class MappingTable {
  public:
    void change(const core::MappingChange &change);
    /// Instead of all that was known of the process.
    void list(const core::MappingListing &listing);

    /// A process has run another program: its mappings are those that came since MappingChange::Kind::Exec.
    void exec(int pid);
    /// `shares`: the child lives in the same address space.
    void fork(int parent, int child, bool shares);
    /// Whether what changes now is of a program that is to come.
    bool in_exec(int pid) const { return next_.contains(pid); }
    void exit(int pid);
    /// A thread begins with that stack pointer; 0: not known.
    void thread_begins(int pid, int tid, std::uint64_t stack_pointer);
    void thread_ends(int pid, int tid);

    /// Whether all of the range is known under that very name already, so that to be told of it says nothing new: the
    /// segments of a library, mprotect. Never of memory without a name, which is known by its shape.
    bool knows(int pid, const core::MappedRange &range) const;

    /// Lives as long as the table. core::kUnknownMapping where nothing is known to be.
    std::string_view name_at(int pid, std::uint64_t address);
    /// Of the whole range as it is now: what a row about the change itself says.
    std::string_view name_of(int pid, const core::MappedRange &range);

  private:
    struct Entry {
        core::MappedRange range;
        std::string_view name;  ///< empty: not asked for yet
    };
    using Entries = std::map<std::uint64_t, Entry>;  ///< by start
    /// Stack pointers to threads, of which each has one.
    class Stacks {
      public:
        void set(std::uint64_t pointer, int tid);
        /// nullopt: there was none.
        std::optional<std::uint64_t> erase(int tid);
        bool has(int tid) const { return of_tid_.contains(tid); }
        void clear();
        const std::map<std::uint64_t, int> &by_pointer() const { return by_pointer_; }

      private:
        std::map<std::uint64_t, int> by_pointer_;
        std::unordered_map<int, std::uint64_t> of_tid_;
    };
    /// Of one address space.
    struct Space {
        Entries entries;
        std::size_t name_bytes = 0;     ///< of these
        Stacks stacks;                  ///< of threads that began …
        Stacks listed;                  ///< … or were there when all were listed, others than those
        std::uint64_t program_end = 0;  ///< of the program's own file, 0: not known
        bool has_heap = false;          ///< brk has been called
    };
    using SpacePtr = std::shared_ptr<Space>;

    Space &space_of(int pid);
    Space &changing(int pid);
    void map(int pid, core::MappedRange range);
    void clear(Space &space, std::uint64_t start, std::uint64_t end);
    void insert(Space &space, core::MappedRange range);
    void move(Space &space, const core::MappingChange &change);
    void name(Space &space, const core::MappedRange &range);
    void list_stacks(Space &space, const core::MappingListing &listing) const;
    void end_stack(Space &space, Stacks &stacks, int tid) const;
    bool affords(std::size_t pieces);
    void forget_names_near(Space &space, std::uint64_t start, std::uint64_t end) const;
    static void find_stack(const Space &space, const core::MappedRange &range, core::MappingNeighbours &neighbours);
    std::string_view name_in(const Space &space, const core::MappedRange &range);
    std::string_view kept(std::string name);
    Entries::iterator put(Space &space, core::MappedRange range);
    void forget(const Space &space);
    void begin_program(int pid);

    std::unordered_map<int, SpacePtr> spaces_;
    std::unordered_map<int, SpacePtr> next_;  ///< of programs whose exec is under way
    std::set<std::string, std::less<>> names_;
    std::size_t entries_ = 0;      ///< in all spaces, about
    std::size_t range_bytes_ = 0;  ///< of their names
    std::size_t names_bytes_ = 0;  ///< of names_
    std::uint64_t told_ = 0;       ///< changes and forks that may cost more than they say
    std::uint64_t looked_at_ = 0;  ///< entries, for these
};

}  // namespace rsslag::trace
