// SPDX-License-Identifier: BSD-2-Clause
// The highest and the lowest rss, with its time and task, of one mm or of several together.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/ledger.h"
#include "counter_event.h"
#include "fifo.h"
#include "rss_track.h"

namespace rsslag::core {

/// The lane of a step that belongs to no CPU and no task.
inline constexpr int kNoLane = -1;

/// How certain amounts are.
enum class Sure : std::uint8_t {
    Nothing,  ///< they are only likely
    Each,     ///< each true amount is between least and most
    Sum,      ///< as Each, and the true sum of all amounts is the sum of the likely amounts
};

/// The amount of an update.
struct PeakAmount {
    std::uint64_t ticket = 0;    ///< 0: nothing is open
    Amount moved;                ///< move of the counter, minus what its CPU had cached
    Amount left;                 ///< `thread` scheme: what its task caches after the update
    std::uint64_t since_ns = 0;  ///< the update was made after this time
};

/// One step of the rss, from one record: its lane and task, its time, and its certain change.
struct PeakStep {
    RssTrack::Lane lane{kNoLane, kNoLane};  ///< its CPU on the `cpu` scheme, its task on the `thread` scheme
    std::uint64_t t_ns = 0;
    std::int64_t pages = 0;  ///< of `member`
    int tid = 0;
    std::uint32_t member = 0;
};

/// A step that changes several members, or whose amount is open.
struct WideStep : PeakStep {
    Members by;                       ///< the certain change
    RssTrack::Slack transient;        ///< pages that may have come and gone since the lane's previous record
    PeakAmount open;                  ///< of `member`: the possible amounts, until the update is settled
    std::uint64_t made_after_ns = 0;  ///< the update of `open` was made after this time
    std::int64_t had = 0;  ///< `thread` scheme: pages that the task had cached before; `open.left` replaces them
    /// By member: the ticket of the task's update whose `left` this record shows; 0: none.
    std::array<std::uint64_t, kMembers> after{};
    std::vector<std::uint64_t> closes;  ///< tickets whose uncertainty ends with this record
};

/// What is known of an mm when its records start to count.
struct PeakStart {
    Members exact;
    Members cached;
    std::int64_t lag = 0;
    std::uint64_t t_ns = 0;
};

/// Counts `pages` that are cached, positive or negative, for Extremes::cached_most.
void note_cached(Extremes &seen, Member member, std::int64_t pages, const Instant &at);

/// Adds up steps in the order of their records, each when its amount is known.
class Peaks {
  public:
    /// Starts from these counters. They count for the largest lag and cached values only if no other start() replaces
    /// them before the next report(): until then they are the counters of a reading that took some time.
    void start(const PeakStart &start);
    /// Continues from the sum of the steps, which is known.
    void resume(std::uint64_t t_ns);
    /// Pauses until start() or resume(), since records are missing.
    void lost();
    /// To be called if there were steps before the start.
    void start_missed() {
        seen_.read_late = !seen_.lossy;
        seen_.lossy = true;
    }
    bool running() const { return track_.running() || birth_; }
    /// A copy whose extremes begin with these counters, after the steps that wait.
    Peaks since(const PeakStart &start) const;
    /// The rss by the counts in the records, without waiting for settlements, and its lag.
    std::int64_t reported() const { return reported_; }
    std::int64_t lag() const { return lag_; }
    void report(std::int64_t by, std::int64_t lag, std::uint64_t t_ns);
    void cached(Member member, std::int64_t pages, const Instant &at);

    void record(const PeakStep &step);
    /// Tickets are ascending.
    void record(const WideStep &step);
    /// Sets the amounts of updates that were recorded as open.
    void settle(std::span<const PeakAmount> amounts, Sure sure);
    /// Places the steps that wait for these tickets, with all amounts that they may have.
    void give_up(std::span<const std::uint64_t> tickets);
    /// Places all steps that wait.
    void give_up();
    std::vector<std::uint64_t> waiting() const;            ///< tickets
    std::vector<std::uint64_t> uncertain_tickets() const;  ///< tickets that are not settled, or not certain
    /// The sum of all placed steps.
    const Members &members() const { return now_; }
    /// See RssTrack::rest().
    void rest() { track_.rest(); }
    /// The lowest rss, and that of each member, are those from now on.
    void forget_lowest(std::uint64_t t_ns);

    /// Sets the number of living processes from now on.
    void processes(std::uint64_t count) { processes_ = count; }
    /// Sets how many pages more or less other CPUs may have cached while a sum was on its way.
    void summed(std::int64_t pages) { late_ = pages; }

    /// The extremes so far. Steps that wait count with all amounts that they may have.
    Extremes extremes() const;

  private:
    enum class State : std::uint8_t { Open, GivenUp, Known };
    struct Waiting {
        PeakStep step;
        std::uint64_t processes = 0;
        State state = State::Known;
        bool wide = false;  ///< the next element of `wide_` contains the other fields of this step
    };
    /// The position of a waiting step that has a ticket.
    struct Open {
        std::uint64_t ticket = 0;
        std::uint64_t waiting = 0, wide = 0;  ///< numbers in the queues of these names
    };
    /// A placed update whose settlement or whose task's next record will give a more exact amount.
    struct Placed {
        PeakAmount amount;
        std::size_t member = 0;
        bool guessed = false;  ///< not settled yet
        bool left = false;     ///< its task has had no record since
        bool off = false;      ///< `moved` may differ from the likely amount
    };
    /// Updates whose true sum is the sum of their likely amounts.
    struct Group {
        std::size_t waiting = 0;  ///< not placed yet
        std::vector<std::uint64_t> tickets;
    };
    /// The limit of waiting steps. Two CPUs make that many while a third one is silent for kSilentNs.
    static constexpr std::size_t kMostWaiting = 131'072;

    const Open *find(std::uint64_t ticket) const;
    void wait(const Waiting &waiting);
    void place_ready();
    void begin_if_born();
    void place(const PeakStep &step, std::uint64_t processes);
    void place(const WideStep &step, std::uint64_t processes, State state);
    RssTrack::Slack place_left(const WideStep &step, Members &by);
    RssTrack::Slack place_open(const WideStep &step, State state, Members &by);
    void correct(Placed &placed, const PeakAmount &amount);
    void add_uncertainty(const Placed &placed, int sign);
    void keep(std::uint64_t ticket, const Placed &placed);
    void close(std::uint64_t ticket);
    void close_group(std::uint64_t ticket);
    RssTrack::Range range() const;
    void note_start();
    void note(std::uint64_t t_ns, int tid, std::uint64_t processes);
    void note_members(const Instant &at);
    void note_member(Member member, const Instant &at);

    RssTrack track_;
    Members now_;
    std::int64_t reported_ = 0;
    std::int64_t lag_ = 0;
    std::int64_t late_ = 0;
    std::uint64_t processes_ = 0;
    bool started_ = false;
    /// Of since(): the extremes begin after the waiting steps before this number.
    struct Birth {
        std::uint64_t number = 0, t_ns = 0;
    };
    std::optional<Birth> birth_;
    std::optional<PeakStart> begun_;  ///< the last start(), until it is noted in `seen_`
    Extremes seen_;

    Fifo<Waiting> waiting_;
    Fifo<WideStep> wide_;                                        ///< in the order of `waiting_`
    Fifo<Open> open_;                                            ///< in the order of `waiting_`
    std::unordered_map<std::uint64_t, Placed> placed_;           ///< by ticket
    std::unordered_map<std::uint64_t, std::uint64_t> group_of_;  ///< by ticket
    std::unordered_map<std::uint64_t, Group> groups_;
    std::uint64_t group_count_ = 0;
    std::uint64_t last_ns_ = 0, last_processes_ = 0;  ///< of the last placed step
    RssTrack::Slack off_;                             ///< the largest error of `now_`, over all placed steps
};

}  // namespace rsslag::core
