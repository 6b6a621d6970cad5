// SPDX-License-Identifier: BSD-2-Clause
// The growth of an address space, by the names of its mappings and by its threads, computed from rows in order. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/growth.h"
#include "exporters/row.h"

namespace rsslag::exporters {

using core::kNoFaults;
using core::NoFault;

/// The growth of one program of a process, since its exec, its birth or the attach. Pages of rss: file, anon, shmem.
struct ImageGrowth {
    struct Mapping {
        std::string name;  ///< raw bytes
        core::Pages came;  ///< pages that faults added, minus pages that went at faults
        std::uint64_t updates = 0;
        /// Rss by smaps in the first and the last listing; nullopt: no such listing.
        std::optional<core::Kilobytes> held_start, held_end;
        core::BuildId build_id;  ///< of the file; unknown if files with different ids had this name
    };
    struct Thread {
        int tid = 0;
        std::string comm;
        core::Pages came;  ///< as Mapping::came, at faults of this thread
    };
    std::uint64_t mm = 0;
    std::string comm;
    core::Pages at_start, last;     ///< exact rss
    std::vector<Mapping> mappings;  ///< largest first
    std::vector<Thread> threads;    ///< largest first
    std::array<core::Pages, kNoFaults> no_fault{};
    /// The number of changes of mappings, of any process, that were lost meanwhile. If it is not 0, names may be those
    /// of earlier mappings.
    std::uint64_t names_lost = 0;
    bool approximate = false;        ///< records were lost, so `at_start` or `last` may be wrong
    bool parts_approximate = false;  ///< records were lost, so the parts may be wrong: mappings, threads, no_fault

    /// The total growth. It equals the sum over `mappings` and `no_fault`.
    core::Pages grew() const { return last - at_start; }
};

class GrowthByName {
  public:
    void note(const UpdateRow &row);
    void note(const FaultRow &row);
    void note(const TaskRow &row);
    void note(const MappingRow &row);
    void note(const LossRow &row);
    void note(const TickRow &row);

    /// Whether the recording contains mappings.
    bool any_names() const { return any_names_; }
    /// Returns the growth of a process's mm and forgets it; nullopt if the mm is counted for another process. If other
    /// processes share the mm (CLONE_VM), its later growth is counted for the next of them that has a row.
    std::optional<ImageGrowth> take(int pid, std::uint64_t mm);

  private:
    struct Amount {
        core::Pages pages;
        std::uint64_t updates = 0;
        std::optional<std::int64_t> held_start, held_end;  ///< kB
    };
    struct Space {
        int pid = 0;
        std::string comm;
        core::Pages at_start, last;
        bool approximate = false, parts_approximate = false;
        bool continued = false;  ///< its growth until now was counted for another process
        /// Changes of mappings lost before this space was first seen.
        std::uint64_t lost_before = 0;
        std::map<std::string, Amount, std::less<>> mappings;  ///< references to values stay valid
        std::map<int, core::Pages> threads;
        std::array<core::Pages, kNoFaults> no_fault{};
        /// By TID, on the `thread` scheme: the mapping of the last fault, whose pages are not reported yet.
        std::map<int, Amount *> faulted;
        bool from_exec = false;  ///< it started with an exec, so listings are compared with 0
        std::optional<std::uint64_t> first_listing, last_listing;
        std::pair<const char *, Amount *> found{nullptr, nullptr};  ///< cache: the last name looked up
    };

    struct Into;

    Space &space_of(const Stamp &at);
    static Amount &amount_of(Space &space, std::string_view mapping);
    void note_build_id(const MappingRow &row);
    static void restart(Space &space);
    void remember(std::uint64_t mm, const Space &space);

    bool any_names_ = false;
    std::uint64_t lost_ = 0;                           ///< changes of mappings lost so far
    std::unordered_map<std::uint64_t, Space> spaces_;  ///< by mm
    std::pair<std::uint64_t, Space *> last_{0, nullptr};
    struct Taken {
        core::Pages last;
        bool approximate = false;
    };
    std::unordered_map<std::uint64_t, Taken> taken_;                              ///< by mm; bounded
    std::deque<std::uint64_t> taken_order_;                                       ///< oldest first
    std::unordered_map<int, std::string> comms_;                                  ///< by TID
    std::map<std::string, std::optional<core::BuildId>, std::less<>> build_ids_;  ///< by name; nullopt: several ids
};

}  // namespace rsslag::exporters
