// SPDX-License-Identifier: BSD-2-Clause
// Finds the order in which updates of one counter took effect, and the amount of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "counter_event.h"

namespace rsslag::core {

/// Searches all orders of updates and readings that the records allow, and finds what is the same in all of them.
///
/// Each CPU's events are in order; their times bound the order between CPUs. `cpu` scheme: an update and the reading of
/// the count for its record are two steps, and other CPUs' updates may take effect between them. A reading shows the
/// sum of all updates since the previous reading. `thread` scheme: update and reading are one step. Orders that lead to
/// the same point (same steps done, same count) have the same continuations, so the search visits a lattice instead of
/// all permutations. Bounds are exact: for each bound of an update, and of the sum of a task's updates, some order
/// reaches it. Bounds may be wider only if one reading shows more than three updates (page_set.cpp kMostExact).
class OrderSearch {
  public:
    /// The largest difference between the clocks of CPUs (TSC synchronization, kernel/time/clocksource.c).
    static constexpr std::uint64_t kClockSkewNs = 1'000;

    /// `count`: the count before the first event. Events of a CPU must be in the order of its ring.
    OrderSearch(std::span<const CounterEvent> events, std::int64_t count, CountRead read);

    /// Facts about the first events that are independent of the other events and of later records.
    struct Solution {
        std::vector<bool> done;                       ///< by event
        std::vector<Amount> moved;                    ///< by event: the amount of an update that is done
        std::vector<std::uint64_t> since_ns;          ///< by event: a time before the update took effect
        std::uint64_t shown_ns = 0;                   ///< a time before any update that is not done took effect
        std::vector<std::pair<int, Amount>> by_task;  ///< by TID: the sum of its updates that are done
        std::int64_t count = 0;                       ///< after the done events
        bool complete = false;                        ///< all events are done
        bool sole_count = false;                      ///< every order of the events leads to `count`
    };

    /// `complete_ns`: the records of all updates and counts from before this time have come. nullopt: nothing is
    /// certain yet.
    std::optional<Solution> certain(std::uint64_t complete_ns) const;
    /// Explains as many events as possible, assuming that no more records come. If orders lead to different counts,
    /// `count` is the most likely one.
    Solution all() const;
    /// Whether no order explains the events up to `complete_ns`, because a record is missing or wrong.
    bool contradictory(std::uint64_t complete_ns) const;
    /// Whether the search was too large. The other functions then have no result.
    bool abandoned() const { return abandoned_; }

  private:
    struct Step {
        std::size_t event;
        bool update;  ///< the update takes effect
        bool reading;
    };
    struct Lane {  ///< of a CPU
        std::vector<Step> steps;
    };
    struct Node {
        std::int64_t count = 0;     ///< as last read
        std::uint64_t pending = 0;  ///< lanes whose updates took effect since the last reading
        std::size_t best_edge = 0;  ///< index plus one of the cheapest edge to this node; 0: the start
        int cost = 0;               ///< of the cheapest path to this node; higher is less likely
        bool stuck = false;         ///< no step is possible after this node
    };
    struct Edge {
        std::uint32_t from, to;
        std::uint32_t lane;
        std::uint64_t reported;  ///< lanes whose updates the reading shows; 0: none
        std::int64_t sum;        ///< the sum of these updates
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
    std::vector<std::size_t> follows_;  ///< by event: index plus one of the event that must be done before it
    std::vector<std::pair<std::uint32_t, std::uint16_t>> lane_of_;  ///< by event: its lane, and its last step's number
    std::vector<Node> nodes_;
    std::vector<std::uint16_t> at_;  ///< by node and lane: steps done
    std::vector<PageRange> sums_;    ///< by node and task: sum of the task's updates
    std::vector<Edge> edges_;
    std::vector<std::vector<std::uint32_t>> layers_;                  ///< nodes by the number of steps that are done
    std::unordered_multimap<std::uint64_t, std::uint32_t> of_layer_;  ///< by hash: nodes of the unfinished layer
    bool abandoned_ = false;
};

}  // namespace rsslag::core
