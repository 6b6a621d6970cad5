// SPDX-License-Identifier: BSD-2-Clause
// The highest and the lowest rss, with its time and task, of one mm or of several together.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "counter_event.h"
#include "fifo.h"
#include "rss_track.h"
#include "rsslag/core/ledger.h"

namespace rsslag::core {

/// The lane of a step of no CPU and no task.
inline constexpr int kNoLane = -1;

/// `member`: its number.
bool counts_in_rss(std::size_t member);

/// How certain amounts are.
enum class Sure : std::uint8_t {
    Nothing,  ///< only that they are likely
    Each,     ///< each true amount is between least and most
    Sum,      ///< … and the true sum of all is that of the likely amounts
};

/// The amount of an update.
struct PeakAmount {
    std::uint64_t ticket = 0;    ///< 0: nothing is open
    Amount moved;                ///< move of the counter, less what its CPU had cached
    Amount left;                 ///< `thread` scheme: what its task caches after it
    std::uint64_t since_ns = 0;  ///< the update was made after this time
};

/// A record's step: its lane and task, its time, and its certain change.
struct PeakStep {
    RssTrack::Lane lane{kNoLane, kNoLane};  ///< its CPU on the `cpu` scheme, its task on the `thread` scheme
    std::uint64_t t_ns = 0;
    std::int64_t pages = 0;  ///< of `member`
    int tid = 0;
    std::uint32_t member = 0;
};

/// A step that changes several members, or whose amount is open.
struct WideStep : PeakStep {
    Members by;                 ///< the certain change
    RssTrack::Slack transient;  ///< what may have come and gone since the lane's previous record
    PeakAmount open;            ///< of `member`: the possible amounts, until it is settled
    std::int64_t had = 0;  ///< `thread` scheme: pages that the task had cached before; `open.left` takes their place
    /// By member: the ticket of the task's update whose `left` this record shows. 0: none.
    std::array<std::uint64_t, kMembers> after{};
    std::vector<std::uint64_t> closes;  ///< tickets whose uncertainty ends with it
};

/// Adds up steps in the order of their records, each once its amount is known.
class Peaks {
  public:
    /// The counters are known: starts from them.
    void start(const Members &members, std::int64_t lag, std::uint64_t t_ns);
    /// Goes on from the sum of the steps, which is known.
    void resume(std::uint64_t t_ns);
    /// Records are missing: pauses until start() or resume().
    void lost();
    bool running() const { return track_.running(); }
    /// The rss by the counts in the records, without waiting for settlements, and its lag.
    std::int64_t reported() const { return reported_; }
    std::int64_t lag() const { return lag_; }
    void report(std::int64_t by, std::int64_t lag, std::uint64_t t_ns);
    void cached(Member member, std::int64_t pages);

    void record(const PeakStep &step);
    /// Tickets are ascending.
    void record(const WideStep &step);
    /// The amounts of updates that were recorded as open.
    void settle(std::span<const PeakAmount> amounts, Sure sure);
    /// Places the steps that wait for these tickets, or all, with the amounts that they may have.
    void give_up(std::span<const std::uint64_t> tickets);
    void give_up();
    std::vector<std::uint64_t> waiting() const;  ///< tickets
    std::vector<std::uint64_t> doubts() const;   ///< tickets that are not settled, or not certain
    /// The sum of all placed steps.
    const Members &members() const { return now_; }
    /// All steps so far are recorded: later records are of later steps.
    void rest() { track_.rest(); }

    /// The number of live processes from now on.
    void processes(std::uint64_t count) { processes_ = count; }
    /// Sums come late: other CPUs may have cached up to this many pages more or less meanwhile.
    void summed(std::int64_t pages) { late_ = pages; }

    /// Steps that wait count with all amounts that they may have.
    Extremes extremes() const;

  private:
    enum class State : std::uint8_t { Open, GivenUp, Known };
    struct Waiting {
        PeakStep step;
        std::uint64_t processes = 0;
        State state = State::Known;
        bool wide = false;  ///< the rest of it is the next element of `wide_`
    };
    /// Where a step with a ticket waits.
    struct Open {
        std::uint64_t ticket = 0;
        std::uint64_t waiting = 0, wide = 0;  ///< numbers in the queues of these names
    };
    /// A placed update of which its settlement or its task's next record will show more.
    struct Placed {
        PeakAmount amount;
        std::size_t member = 0;
        bool guessed = false;  ///< not settled yet
        bool left = false;     ///< its task has had no record since
        bool off = false;      ///< `moved` may differ from what is likely
    };
    /// Updates whose true sum is that of their likely amounts.
    struct Group {
        std::size_t waiting = 0;  ///< not placed yet
        std::vector<std::uint64_t> tickets;
    };
    /// At most so many steps wait: two CPUs make that many while a third is silent for kSilentNs.
    static constexpr std::size_t kMostWaiting = 131'072;

    const Open *find(std::uint64_t ticket) const;
    void wait(const Waiting &waiting);
    void place_ready();
    void place(const PeakStep &step, std::uint64_t processes);
    void place(const WideStep &step, std::uint64_t processes, State state);
    RssTrack::Slack place_left(const WideStep &step, Members &by);
    RssTrack::Slack place_open(const WideStep &step, State state, Members &by);
    void correct(Placed &placed, const PeakAmount &amount);
    void doubt(const Placed &placed, int sign);
    void keep(std::uint64_t ticket, const Placed &placed);
    void close(std::uint64_t ticket);
    void close_group(std::uint64_t ticket);
    RssTrack::Range range() const;
    void note(std::uint64_t t_ns, int tid, std::uint64_t processes);
    void note_members();
    void note_member(Member member);

    RssTrack track_;
    Members now_;
    std::int64_t reported_ = 0;
    std::int64_t lag_ = 0;
    std::int64_t late_ = 0;
    std::uint64_t processes_ = 0;
    bool started_ = false;
    Extremes seen_;

    Fifo<Waiting> waiting_;
    Fifo<WideStep> wide_;                                        ///< in the order of `waiting_`
    Fifo<Open> open_;                                            ///< in the order of `waiting_`
    std::unordered_map<std::uint64_t, Placed> placed_;           ///< by ticket
    std::unordered_map<std::uint64_t, std::uint64_t> group_of_;  ///< by ticket
    std::unordered_map<std::uint64_t, Group> groups_;
    std::uint64_t group_count_ = 0;
    std::uint64_t last_ns_ = 0, last_processes_ = 0;  ///< of the last placed step
    RssTrack::Slack off_;                             ///< by how much `now_` may be off, over all placed steps
};

}  // namespace rsslag::core
