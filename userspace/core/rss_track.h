// SPDX-License-Identifier: BSD-2-Clause
// The highest and the lowest value of a sum of counters at any instant, as far as the times of records bound them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rsslag::core {

/// Follows a value that several lanes (CPUs or tasks) change. Each record is of a step that was made at some time after
/// the lane's previous record, so in between the value may have been higher or lower than the records in their order
/// show. While only one lane is active, it was not.
class RssTrack {
  public:
    struct Range {
        std::int64_t from = 0, to = 0;
    };
    static constexpr Range point(std::int64_t value) { return {value, value}; }
    /// By how much the value may have been higher (`up` >= 0) or lower (`down` <= 0).
    struct Slack {
        std::int64_t up = 0, down = 0;
    };

    static constexpr int kNoTask = 0;
    /// The lanes and the task of a step: it was made after the previous record of `own`, of `also` and, if lanes are
    /// CPUs, of `task` on whatever CPU.
    struct Lane {
        int own = 0;
        int also = 0;
        int task = kNoTask;
    };

    /// The value lies in this range; earlier extremes stay.
    void start(Range value);
    /// A reading shows that all steps so far are recorded: later records are of later steps.
    void rest();
    /// Records are missing: ignores steps until start().
    void pause() { running_ = false; }
    bool running() const { return running_; }

    /// A lane's step, made at any time since its previous record.
    void widen_lane(Lane lane, Slack slack);
    /// The same, made after `t_ns`.
    void widen(Lane lane, std::uint64_t t_ns, Slack slack);
    /// A record of this lane and task: the value lies in this range now. Lanes are not negative.
    void record(Lane lane, std::uint64_t t_ns, Range value);
    /// The same for no lane.
    void record(Range value);

    /// The ranges in which the highest and the lowest value so far lie; {0, 0} before the first start().
    Range most() const;
    Range least() const;

  private:
    static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max() / 2;
    struct Bounds {
        std::int64_t most_from = -kNone, most_to = -kNone, least_from = kNone, least_to = kNone;
        void include(Range value);
        void join(const Bounds &other);
        void widen(Slack slack);
    };
    /// A lane's last record, and the extremes from there to the next element.
    struct Last {
        int lane = 0;
        int task = kNoTask;
        std::uint64_t t_ns = 0;
        Bounds after;
    };
    /// Beyond this many lanes the longest silent one is dropped, as if it had had no record.
    static constexpr std::size_t kMostLanes = 256;

    std::size_t of(int lane) const;
    std::size_t of_task(int task) const;
    std::size_t of_lane(Lane lane) const { return std::max({of(lane.own), of(lane.also), of_task(lane.task)}); }
    std::size_t at(std::uint64_t t_ns) const;
    void widen_from(std::size_t first, Slack slack);
    Bounds &newest() { return lanes_.empty() ? first_ : lanes_.back().after; }
    void drop(std::size_t index);
    Bounds all() const;

    bool running_ = false;
    Range value_;
    Bounds over_;              ///< before the last start() or rest()
    Bounds first_;             ///< from there to the first of `lanes_`
    std::vector<Last> lanes_;  ///< in the order of these records
};

}  // namespace rsslag::core
