// SPDX-License-Identifier: BSD-2-Clause
// What a sum of counters was at most and at least, at any instant, as far as the times of records tell.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rsslag::core {

/// Follows a value that several lanes (CPUs or tasks) change, each record of which tells of a step that was made at
/// some time after the record before it of that lane. So the value may have been higher or lower in between than
/// records tell one after another; where only one lane works, it was not.
class RssTrack {
  public:
    struct Range {
        std::int64_t from = 0, to = 0;
    };
    static constexpr Range point(std::int64_t value) { return {value, value}; }
    /// By how much the value may have been more (`up` >= 0) or less (`down` <= 0).
    struct Slack {
        std::int64_t up = 0, down = 0;
    };

    static constexpr int kNoTask = 0;
    /// Whose step it is: records of either lane would have told of it. Where lanes are CPUs, the task that made it had
    /// made it after all that it has told of from whichever CPU.
    struct Lane {
        int own = 0;
        int also = 0;
        int task = kNoTask;
    };

    /// The value lies there; what was told before stays.
    void start(Range value);
    /// All that was done has been told, and a reading shows so: what is told from now on came after.
    void rest();
    /// Records are missing: what comes until start() tells nothing.
    void pause() { running_ = false; }
    bool running() const { return running_; }

    /// A lane's step, which may have been made at any time since its record before.
    void widen_lane(Lane lane, Slack slack);
    /// The same, which had not been made at that time.
    void widen(Lane lane, std::uint64_t t_ns, Slack slack);
    /// A record of this lane, by that task: the value lies there now. Lanes are not negative.
    void record(Lane lane, std::uint64_t t_ns, Range value);
    /// The same, of no lane.
    void record(Range value);

    /// The highest and the lowest that it ever was lie in these; {0, 0} before the first start().
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
    /// A lane's last record, and what came between it and the one of the next lane here.
    struct Last {
        int lane = 0;
        int task = kNoTask;
        std::uint64_t t_ns = 0;
        Bounds after;
    };
    /// Beyond that many lanes those that were silent for longest are taken to have been silent from the start.
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
    Bounds over_;              ///< before the last start()
    Bounds first_;             ///< from there to the first of `lanes_`
    std::vector<Last> lanes_;  ///< ascending by when each told last
};

}  // namespace rsslag::core
