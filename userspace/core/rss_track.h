// SPDX-License-Identifier: BSD-2-Clause
// The highest and the lowest value of a sum of counters at any instant, as far as the times of records determine them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rsslag::core {

/// Follows a value that several lanes (CPUs or tasks) change. The step of a record was made at some time after the
/// lane's previous record. If other lanes have records in between, the value may have been higher or lower there than
/// the order of the records shows.
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
    /// The lanes and the task of a step. It was made after the previous record of `own`, of `also` and, if lanes are
    /// CPUs, of `task` on any CPU.
    struct Lane {
        int own = 0;
        int also = 0;
        int task = kNoTask;
    };

    /// Starts with the value in this range; earlier extremes stay.
    void start(Range value);
    /// To be called when a reading shows that all steps so far are recorded, so that later records are of later steps.
    void rest();
    /// The lowest value is that from now on.
    void forget_least();
    /// Ignores steps until start(), since records are missing.
    void pause() { running_ = false; }
    bool running() const { return running_; }

    /// Widens the extremes by a lane's step, which was made at any time since the lane's previous record.
    void widen_lane(Lane lane, Slack slack);
    /// As widen_lane(), for a step that was made after `t_ns`.
    void widen(Lane lane, std::uint64_t t_ns, Slack slack);
    /// Adds a record of this lane and task, after which the value lies in this range. Lanes are not negative.
    void record(Lane lane, std::uint64_t t_ns, Range value);
    /// Adds a record of no lane.
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
        void forget_least() { least_from = least_to = kNone; }
    };
    /// A lane's last record, and the extremes from there to the next element.
    struct Last {
        int lane = 0;
        int task = kNoTask;
        std::uint64_t t_ns = 0;
        Bounds after;
    };
    /// Marks of time between the lanes' records, so that at() is no coarser than kMarkNs for the last kMarks of them.
    static constexpr std::uint64_t kMarkNs = 100'000;
    static constexpr int kMarks = 16;
    static constexpr int kFirstMark = -2;  ///< their lanes are this one and those below
    /// If there are more lanes, the one that has been silent longest is dropped, as if it had had no record.
    static constexpr std::size_t kMostLanes = 256;

    std::size_t of(int lane) const;
    std::size_t of_task(int task) const;
    std::size_t of_lane(Lane lane) const { return std::max({of(lane.own), of(lane.also), of_task(lane.task)}); }
    std::size_t at(std::uint64_t t_ns) const;
    void widen_from(std::size_t first, Slack slack);
    Bounds &newest() { return lanes_.empty() ? first_ : lanes_.back().after; }
    void drop(std::size_t index);
    void mark(std::uint64_t t_ns, Range value);
    Bounds all() const;

    bool running_ = false;
    Range value_;
    Bounds over_;              ///< before the last start() or rest()
    Bounds first_;             ///< from there to the first of `lanes_`
    std::vector<Last> lanes_;  ///< in the order of these records
    std::uint64_t marked_ns_ = 0;
    int marks_ = 0;
};

}  // namespace rsslag::core
