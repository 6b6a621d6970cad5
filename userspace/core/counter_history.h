// SPDX-License-Identifier: BSD-2-Clause
// The events of one counter of one mm that are not settled yet.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "counter_event.h"
#include "order_search.h"

namespace rsslag::core {

/// Keeps a counter's events until the amount of each update is certain, or later records cannot make it more certain.
///
/// An update is settled once every record that could change its amount has come: records of a CPU are in order, so that
/// a later record of each CPU proves it. A CPU without a record for kSilentNs is taken to have none on the way. Only
/// this is an estimate, far above the longest delay that was seen (12 ms, under emulation).
class CounterHistory {
  public:
    static constexpr std::uint64_t kSilentNs = 50'000'000;
    /// The longest time from an update of such a CPU to its record: interrupts take 20 us.
    static constexpr std::uint64_t kInFlightNs = 1'000'000;
    /// A time that is not known yet; leaves space for sums.
    static constexpr std::uint64_t kNever = UINT64_MAX / 2;

    /// A settled update.
    struct Update {
        std::uint64_t ticket = 0, t_ns = 0;
        int cpu = 0, tid = 0;
        Amount pages;
        bool moved = false;          ///< whether it moved the mm's own counter, most likely
        std::uint64_t since_ns = 0;  ///< it took effect after this time
    };
    /// The sum of a task's settled updates: its bounds are tighter than the sums of each one's bounds.
    struct Share {
        int tid = 0;
        Amount pages;
    };
    struct Settled {
        std::vector<Update> updates;
        std::vector<Share> shares;
        std::int64_t unclaimed = 0;  ///< the counter moved by this, and no record explains it
        bool certain = false;        ///< in all possible orders of them `count()` is the same
        bool bound = false;          ///< each true amount is between least and most
        bool sum_known = false;      ///< the true sum of all of them is that of their likely amounts
        void clear() {
            unclaimed = 0;
            certain = bound = sum_known = false;
            updates.clear();
            shares.clear();
        }
    };

    explicit CounterHistory(CountRead read) : read_(read) {}

    /// Starts over from this count and drops what is open.
    void reset(std::int64_t count);
    bool open() const { return !events_.empty(); }
    /// The count after all settled events.
    std::int64_t count() const { return count_; }
    /// The latest t_ns of a settled event.
    std::uint64_t settled_ns() const { return settled_until_; }

    /// Adds a record of this counter.
    void add(CounterEvent event, Settled &out);
    /// Whether enough events came since the last settle() to make another one worthwhile.
    bool due() const { return added_ >= try_at_; }
    /// Adds a reading of the counter between these times, as evidence for the order of open updates. Returns false and
    /// changes nothing if none is open, if no order leads to that count, or if the reading may be older than settled
    /// updates.
    bool add_reading(std::int64_t count, std::uint64_t begin_ns, std::uint64_t end_ns);
    /// The CPU has a later record, of whatever counter: the count of its last one had been read by then.
    void passed(int cpu, std::uint64_t t_ns);
    /// `complete_ns`: the records of all that took effect, or was read, before this time have come.
    void settle(std::uint64_t complete_ns, Settled &out);
    const std::vector<CounterEvent> &unsettled() const { return events_; }
    /// Settles all that is open: no more records come.
    void finish(Settled &out);
    /// Settles all open updates as if no more records came. Moves of the counter that only missing records explain are
    /// left out.
    void settle_for_view(Settled &out);

    /// Moves a task's open events to another TID or tag: the task has ended, or its TID has changed.
    void retag(int from, int to);

  private:
    struct Last {
        std::size_t one = 0, two = 0;  ///< indices plus one of the CPU's last event and the one before
    };

    /// A count that was read, or returned by an atomic add, between these times and includes no open update.
    struct Clean {
        std::uint64_t since_ns = 0, end_ns = 0;
        int cpu = -1;
        bool up = false, down = false;  ///< it may include updates settled since, which moved the counter up, down
    };

    bool settled_by_itself(const CounterEvent &event, Settled &out);
    void keep(CounterEvent event);
    static void end_all(std::vector<CounterEvent> &events);
    void end_silent(std::uint64_t complete_ns);
    void take(const OrderSearch::Solution &solution, Settled &out);
    void settle_all(Settled &out);
    void take_unordered(Settled &out);
    std::uint64_t last_ns() const;
    void emit(const CounterEvent &event, const Amount &moved, std::uint64_t since_ns, Settled &out) const;
    void note_clean(const CounterEvent &event);
    std::uint64_t shown_before(const OrderSearch::Solution &solution, std::uint64_t complete_ns);
    void index();

    CountRead read_;
    std::int64_t count_ = 0;
    std::uint64_t settled_until_ = 0;  ///< the latest t_ns of a settled event
    std::uint64_t shown_ns_ = 0;       ///< no open update had taken effect at this time
    Clean clean_;
    std::vector<CounterEvent> events_;
    std::unordered_map<int, Last> last_of_cpu_;
    std::unordered_map<int, std::uint64_t> last_of_task_;  ///< by TID or tag: number of its last event
    std::uint64_t numbers_ = 0;
    std::size_t added_ = 0;  ///< events since the last settle()
    std::size_t try_at_ = 1;
};

}  // namespace rsslag::core
