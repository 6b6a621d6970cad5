// SPDX-License-Identifier: BSD-2-Clause
// What moved one counter of one mm, record by record, as far as it is not settled yet.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "counter_event.h"
#include "order_search.h"

namespace rsslag::core {

/// Keeps a counter's events until what each update brought is certain, or cannot become more so.
///
/// An update is settled once every record that could change the answer has come: records of a CPU are in order, so that
/// a later record of each CPU proves it. A CPU that nothing was heard of for kSilentNs is taken to have nothing to
/// tell; that alone is an estimate, and far above what was ever seen (8 ms, under emulation).
class CounterHistory {
  public:
    static constexpr std::uint64_t kSilentNs = 50'000'000;
    /// So long an update of such a CPU may wait for its record: interrupts take 20 us.
    static constexpr std::uint64_t kInFlightNs = 1'000'000;
    /// Not known yet; what is added to it does not wrap.
    static constexpr std::uint64_t kNever = UINT64_MAX / 2;

    /// What an update came to.
    struct Update {
        std::uint64_t ticket = 0, t_ns = 0;
        int cpu = 0, tid = 0;
        Amount pages;
        bool moved = false;          ///< the mm's own counter, most likely
        std::uint64_t since_ns = 0;  ///< it took effect after that
    };
    /// What a task's updates came to together: tighter than the sum of each.
    struct Share {
        int tid = 0;
        Amount pages;
    };
    struct Settled {
        std::vector<Update> updates;
        std::vector<Share> shares;
        std::int64_t unclaimed = 0;  ///< moved, and no record that could have done it is there
        bool certain = false;        ///< no other order of them is possible
        bool bound = false;          ///< no update came to less than the least, or more than the most, told of it
        bool sum_known = false;      ///< they came to what is likely of them together
        void clear() {
            unclaimed = 0;
            certain = bound = sum_known = false;
            updates.clear();
            shares.clear();
        }
    };

    explicit CounterHistory(CountRead read) : read_(read) {}

    /// Starts over from this count; what is open is dropped.
    void reset(std::int64_t count);
    bool open() const { return !events_.empty(); }
    /// After all that is settled.
    std::int64_t count() const { return count_; }
    /// t_ns of the last event that is.
    std::uint64_t settled_ns() const { return settled_until_; }

    /// A record of this counter.
    void add(CounterEvent event, Settled &out);
    /// Whether enough has come since the last settle() that it may tell more.
    bool due() const { return added_ >= try_at_; }
    /// The counter itself was read between these times: evidence for the order of what is open. false, and nothing has
    /// changed: nothing is open, or no order of it leads to that count.
    bool add_reading(std::int64_t count, std::uint64_t begin_ns, std::uint64_t end_ns);
    /// Any later record of this CPU: what its last one read, it had read by then.
    void passed(int cpu, std::uint64_t t_ns);
    /// `complete_ns`: all that took effect, or was read, before that has been told.
    void settle(std::uint64_t complete_ns, Settled &out);
    const std::vector<CounterEvent> &unsettled() const { return events_; }
    /// The same, and nothing more will come: whatever it is, it is settled.
    void finish(Settled &out);
    /// As it would be told now: updates are settled in any case, and what only records that have not come can explain
    /// has not happened yet.
    void settle_for_view(Settled &out);

    /// What is open for a task is another's from now on: it has ended, or changed its number.
    void retag(int from, int to);

  private:
    struct Last {
        std::size_t one = 0, two = 0;  ///< indices plus one of the CPU's last event and the one before
    };

    /// A count that was read, or given back, between these times, and showed nothing of what is open.
    struct Clean {
        std::uint64_t since_ns = 0, end_ns = 0;
        int cpu = -1;
        bool up = false, down = false;  ///< what was settled since may have been in it, and moved the counter so
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
    std::uint64_t settled_until_ = 0;  ///< t_ns of the last event that is
    std::uint64_t shown_ns_ = 0;       ///< what is not settled had not taken effect then
    Clean clean_;
    std::vector<CounterEvent> events_;
    std::unordered_map<int, Last> last_of_cpu_;
    std::unordered_map<int, std::uint64_t> last_of_task_;  ///< numbers
    std::uint64_t numbers_ = 0;
    std::size_t added_ = 0;  ///< since it was tried last
    std::size_t try_at_ = 1;
};

}  // namespace rsslag::core
