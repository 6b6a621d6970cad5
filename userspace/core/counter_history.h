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
/// An update is settled when every record that could change its amount has come. Records of a CPU are in order, so a
/// later record of each CPU proves this. A CPU without a record for kSilentNs is assumed to have none on the way. This
/// is the only estimate. It is far above the longest delay that was seen (12 ms, under emulation).
class CounterHistory {
  public:
    static constexpr std::uint64_t kSilentNs = 50'000'000;
    /// In place of a time that is unknown yet; sums with it do not overflow.
    static constexpr std::uint64_t kNever = UINT64_MAX / 2;

    /// A settled update.
    struct Update {
        std::uint64_t ticket = 0, t_ns = 0;
        int cpu = 0, tid = 0;
        Amount pages;
        std::int64_t moved = 0;      ///< the likely move of the mm's own counter
        std::uint64_t since_ns = 0;  ///< it took effect after this time
    };
    /// The sum of a task's settled updates. Its bounds are tighter than the sums of the bounds of each update.
    struct Share {
        int tid = 0;
        Amount pages;
    };
    struct Settled {
        std::vector<Update> updates;
        std::vector<Share> shares;
        std::int64_t unexplained = 0;  ///< the counter moved by this, and no record explains it
        bool certain = false;          ///< all possible orders of the updates lead to the same `count()`
        bool bound = false;            ///< each true amount is between least and most
        bool sum_known = false;        ///< the true sum of all amounts is the sum of their likely amounts
        void clear() {
            unexplained = 0;
            certain = bound = sum_known = false;
            updates.clear();
            shares.clear();
        }
    };

    explicit CounterHistory(CountRead read = CountRead::AtOnce) : read_(read) {}

    /// Starts again from this count and drops all open updates.
    void reset(std::int64_t count);
    bool open() const { return !events_.empty(); }
    /// The count after all settled events.
    std::int64_t count() const { return count_; }

    /// Adds a record of this counter.
    void add(CounterEvent event, Settled &out);
    /// Whether enough events have come since the last settle() to call it again.
    bool due() const { return added_ >= try_at_; }
    /// Adds a reading of the counter between these times, as evidence for the order of open updates. Returns false and
    /// changes nothing if no update is open, if no order leads to that count, or if the reading may be older than
    /// settled updates.
    bool add_reading(std::int64_t count, std::uint64_t begin_ns, std::uint64_t end_ns);
    /// To be called for a later record of the CPU, of any counter. The count in the CPU's last record of this counter
    /// was read before `t_ns`.
    void passed(int cpu, std::uint64_t t_ns);
    /// `complete_ns`: the records of all updates and counts from before this time have come.
    void settle(std::uint64_t complete_ns, Settled &out);
    const std::vector<CounterEvent> &unsettled() const { return events_; }
    /// Settles all open updates. To be called when no more records will come.
    void finish(Settled &out);
    /// Settles all open updates as if no more records came. Leaves out moves of the counter that only missing records
    /// explain.
    void settle_for_view(Settled &out);

    /// Moves a task's open events to another TID or tag, because the task has ended or its TID has changed.
    void retag(int from, int to);

  private:
    struct Last {
        std::size_t one = 0, two = 0;  ///< indices plus one of the CPU's last event and of the event before that
    };

    /// A count without any open update, which was read or returned by an atomic add between these times.
    struct Clean {
        std::uint64_t since_ns = 0, end_ns = 0;
        int cpu = -1;
        bool up = false, down = false;  ///< it may include updates settled since that moved the counter up or down
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
