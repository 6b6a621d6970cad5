// SPDX-License-Identifier: BSD-2-Clause
// What an address space grew by, by the names of its mappings and by its threads: a fold over rows. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rsslag/core/growth.h"
#include "rsslag/sinks/row.h"

namespace rsslag::sinks {

using core::kNoFaults;
using core::NoFault;

/// Of one program that a process has run, from its exec, its birth or the attach on. Pages of rss: file, anon, shmem.
struct ImageGrowth {
    struct Mapping {
        std::string name;  ///< raw
        core::Pages came;  ///< at faults, less what went at them
        std::uint64_t updates = 0;
        std::optional<core::Kilobytes> held_begin, held_end;  ///< of smaps; nullopt: not listed then
        core::BuildId build_id;                               ///< of the file; not known where two had that name
    };
    struct Thread {
        int tid = 0;
        std::string comm;
        core::Pages came;  ///< at faults
    };
    std::uint64_t mm = 0;
    std::string comm;
    core::Pages begin, last;        ///< exact rss
    std::vector<Mapping> mappings;  ///< largest first
    std::vector<Thread> threads;    ///< likewise
    std::array<core::Pages, kNoFaults> no_fault{};
    std::uint64_t names_lost =
        0;  ///< changes of whichever mappings meanwhile: names may be those of what was there before

    bool in_doubt = false;  ///< records were lost: begin or last may have been more, or less

    /// The sum of all mappings and of all that came by no fault.
    core::Pages grew() const { return last - begin; }
};

class GrowthByName {
  public:
    void note(const UpdateRow &row);
    void note(const FaultRow &row);
    void note(const TaskRow &row);
    void note(const MappingRow &row);
    void note(const LossRow &row);
    void note(const TickRow &row);

    /// Whether the recording tells of mappings at all.
    bool any_names() const { return any_names_; }
    /// Of a process's mm as this tick has it; nullopt: the mm is another process's. It is over with.
    std::optional<ImageGrowth> take(int pid, std::uint64_t mm);

  private:
    struct Amount {
        core::Pages pages;
        std::uint64_t updates = 0;
        std::optional<std::int64_t> held_begin, held_end;  ///< kB
    };
    struct Space {
        int pid = 0;
        std::string comm;
        core::Pages begin, last;
        bool in_doubt = false;
        std::uint64_t lost_before = 0;                        ///< changes of mappings
        std::map<std::string, Amount, std::less<>> mappings;  ///< references to values stay valid
        std::map<int, core::Pages> threads;
        std::array<core::Pages, kNoFaults> no_fault{};
        std::map<int, Amount *> faulted;  ///< `thread` scheme: of faults whose pages are not told yet, by TID
        bool from_exec = false;           ///< it began with nothing that any listing has
        std::optional<std::uint64_t> first_listing, last_listing;
        std::pair<const char *, Amount *> found{nullptr, nullptr};  ///< the last name asked for
    };

    struct Into;

    Space &space_of(const Stamp &at);
    static Amount &amount_of(Space &space, std::string_view mapping);
    void note_build_id(const MappingRow &row);
    static void restart(Space &space);

    bool any_names_ = false;
    std::uint64_t lost_ = 0;                           ///< changes of mappings
    std::unordered_map<std::uint64_t, Space> spaces_;  ///< by mm
    std::pair<std::uint64_t, Space *> last_{0, nullptr};
    std::unordered_map<int, std::string> comms_;                                  ///< by TID
    std::map<std::string, std::optional<core::BuildId>, std::less<>> build_ids_;  ///< by name; nullopt: of several
};

}  // namespace rsslag::sinks
