// SPDX-License-Identifier: BSD-2-Clause
// In which order did updates of one counter take effect, and what did each move it by?
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "counter_event.h"

namespace rsslag::core {

/// Goes through all orders of updates and readings that the records allow, and keeps what holds in every one of them.
///
/// Each CPU's events are in order; between CPUs their times bound it. `cpu` scheme: an update and the reading of its
/// record are two steps, between which other CPUs' updates may fall; a reading tells the sum of all updates since the
/// reading before it. `thread` scheme: both are one step. Orders that lead to the same point (the same steps done, the
/// same count) share what follows, so that the search is a walk through a lattice and not through all permutations.
/// Exact: least and most of an update, and of all updates of a task together, are reached by some order.
class OrderSearch {
  public:
    /// CPUs' clocks agree that far (TSC synchronization, kernel/time/clocksource.c).
    static constexpr std::uint64_t kClockSkewNs = 1'000;

    /// `count`: before the first of them. Events of a CPU in the order in which its ring had them.
    OrderSearch(std::span<const CounterEvent> events, std::int64_t count, CountRead read);

    /// What holds of the first events, whatever the rest and what is still to come may be.
    struct Solution {
        std::vector<bool> done;                       ///< by event
        std::vector<Amount> moved;                    ///< by event: of updates that are done
        std::vector<std::uint64_t> since_ns;          ///< by event: of updates, when they had not taken effect yet …
        std::uint64_t shown_ns = 0;                   ///< … and of all that are not done
        std::vector<std::pair<int, Amount>> by_task;  ///< by TID: the sum of its updates that are done
        std::int64_t count = 0;                       ///< after them
        bool complete = false;                        ///< they are all, …
        bool sole_count = false;                      ///< … and every order of them leads to that count
    };

    /// `complete_ns`: all that took effect, or was read, before that has been told. nullopt: nothing is certain yet.
    std::optional<Solution> certain(std::uint64_t complete_ns) const;
    /// As much as can be explained, if nothing more came. Where orders end at different counts, the likeliest is told.
    Solution all() const;
    /// No order explains what must be explained by now: a record is missing, or says what cannot be.
    bool contradictory(std::uint64_t complete_ns) const;
    /// There was too much to search; the others must not be asked.
    bool abandoned() const { return abandoned_; }

  private:
    struct Step {
        std::size_t event;
        bool update;  ///< takes effect
        bool reading;
    };
    struct Lane {  ///< of a CPU
        std::vector<Step> steps;
    };
    struct Node {
        std::int64_t count = 0;     ///< as last read
        std::uint64_t pending = 0;  ///< lanes whose updates took effect since
        std::size_t best_edge = 0;  ///< plus one; 0: the start
        int cost = 0;
        bool stuck = false;  ///< nothing can come next
    };
    struct Edge {
        std::uint32_t from, to;
        std::uint32_t lane;
        std::uint64_t reported;  ///< lanes whose updates the reading tells, 0 where it tells nothing
        std::int64_t sum;
    };

    void run(std::int64_t count);
    void expand(std::uint32_t node);
    bool allowed(std::uint32_t node, std::size_t lane) const;
    void step_to(std::uint32_t from, std::size_t lane, std::uint64_t reported, std::int64_t sum);
    std::uint32_t node_for(std::uint32_t from, std::size_t lane, std::int64_t count, std::uint64_t pending);
    const Step *next(std::uint32_t node, std::size_t lane) const;
    const CounterEvent &event(const Step &step) const { return events_[step.event]; }
    std::uint64_t earliest(const Step &step) const;
    std::uint64_t latest(const Step &step) const;
    std::uint64_t done_by(std::uint32_t node) const;
    bool between_events(std::uint32_t node) const;
    std::vector<bool> alive(std::uint64_t complete_ns) const;
    bool waits(std::uint32_t node, std::uint64_t complete_ns) const;
    std::vector<std::size_t> updates_of(std::uint64_t lanes, std::uint32_t node) const;
    Solution solution(std::span<const std::uint32_t> nodes) const;
    std::vector<std::uint32_t> sole_towards(std::span<const std::uint32_t> ends) const;
    void date(std::span<const std::uint32_t> nodes, Solution &solution) const;
    bool shows(std::uint32_t from, std::uint32_t to, const CounterEvent &reading, const Solution &solution) const;
    std::uint16_t *at(std::uint32_t node) { return at_.data() + node * lanes_.size(); }
    const std::uint16_t *at(std::uint32_t node) const { return at_.data() + node * lanes_.size(); }
    PageRange *sums(std::uint32_t node) { return sums_.data() + node * tasks_.size(); }
    const PageRange *sums(std::uint32_t node) const { return sums_.data() + node * tasks_.size(); }

    std::span<const CounterEvent> events_;
    CountRead read_;
    std::vector<Lane> lanes_;
    std::vector<int> tasks_;            ///< TIDs
    std::vector<int> task_of_;          ///< by event: index into tasks_
    std::vector<std::size_t> follows_;  ///< by event: plus one, the event that must be done before it
    std::vector<std::pair<std::uint32_t, std::uint16_t>> lane_of_;  ///< by event: its lane, and its last step's number
    std::vector<Node> nodes_;
    std::vector<std::uint16_t> at_;  ///< by node and lane: steps done
    std::vector<PageRange> sums_;    ///< by node and task
    std::vector<Edge> edges_;
    std::vector<std::vector<std::uint32_t>> layers_;                  ///< nodes by how many steps are done
    std::unordered_multimap<std::uint64_t, std::uint32_t> of_layer_;  ///< nodes of the layer that is made
    bool abandoned_ = false;
};

}  // namespace rsslag::core
