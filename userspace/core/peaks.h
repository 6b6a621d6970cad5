// SPDX-License-Identifier: BSD-2-Clause
// The most and the least that an rss was, with who and when, of one mm or of several together.
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

/// Of a step that is nobody's.
inline constexpr int kNoLane = -1;

/// Of a member's number.
bool counts_in_rss(std::size_t member);

/// How sure amounts are.
enum class Sure : std::uint8_t {
    Nothing,  ///< they are likely
    Each,     ///< none is less than its least, or more than its most
    Sum,      ///< … and together they are what is likely of them
};

/// What an update came to.
struct PeakAmount {
    std::uint64_t ticket = 0;    ///< 0: nothing is open
    Amount moved;                ///< the counter, less what its CPU had cached
    Amount left;                 ///< `thread` scheme: what its task caches after it
    std::uint64_t since_ns = 0;  ///< it had not been made then
};

/// A record's step: who made it, when, and what has changed by it for certain.
struct PeakStep {
    RssTrack::Lane lane{kNoLane, kNoLane};  ///< its CPU on the `cpu` scheme, its task on the `thread` scheme
    std::uint64_t t_ns = 0;
    std::int64_t pages = 0;  ///< of `member`
    int tid = 0;
    std::uint32_t member = 0;
};

/// One that tells of several members, or leaves something open.
struct WideStep : PeakStep {
    Members by;              ///< whatever is open of it
    RssTrack::Slack beside;  ///< what may have come and gone meanwhile
    PeakAmount open;         ///< of `member`: all that it may be, before it is settled
    std::int64_t had = 0;    ///< `thread` scheme: of what it left, its task had so much before
    /// By member: the ticket of the task's update that left something, of which this tells. 0: none.
    std::array<std::uint64_t, kMembers> after{};
    std::vector<std::uint64_t> closes;  ///< tickets whose doubts end with it
};

/// Puts steps one after another as they were told, each once its amount is known.
class Peaks {
  public:
    /// What it holds is known …
    void start(const Members &members, std::int64_t lag, std::uint64_t t_ns);
    /// … or has been all the time.
    void resume(std::uint64_t t_ns);
    void lost();
    bool running() const { return track_.running(); }
    /// The rss as told last, and how much of it readers of the counters miss.
    std::int64_t reported() const { return reported_; }
    std::int64_t lag() const { return lag_; }
    void report(std::int64_t by, std::int64_t lag, std::uint64_t t_ns);
    void cached(Member member, std::int64_t pages);

    void record(const PeakStep &step);
    /// Tickets only rise.
    void record(const WideStep &step);
    /// What updates of the records before came to.
    void settle(std::span<const PeakAmount> amounts, Sure sure);
    /// Nobody will tell of what waits for these, or of anything.
    void give_up(std::span<const std::uint64_t> tickets);
    void give_up();
    std::vector<std::uint64_t> waiting() const;  ///< tickets
    std::vector<std::uint64_t> doubts() const;   ///< tickets that something is still to come of, or may be off by
    /// As all steps lead to.
    const Members &members() const { return now_; }
    /// No step that is told of from now on was made before.
    void rest() { track_.rest(); }

    /// So many processes live from now on.
    void processes(std::uint64_t count) { processes_ = count; }
    /// Sums are told late: other CPUs may have cached so much more or less meanwhile.
    void summed(std::int64_t pages) { late_ = pages; }

    /// What waits is taken for anything that it may be.
    Extremes extremes() const;

  private:
    enum class State : std::uint8_t { Open, GivenUp, Known };
    struct Waiting {
        PeakStep step;
        std::uint64_t processes = 0;
        State state = State::Known;
        bool wide = false;  ///< the rest of it is the next of `wide_`
    };
    /// Where a step waits whose update is open, or was.
    struct Open {
        std::uint64_t ticket = 0;
        std::uint64_t waiting = 0, wide = 0;  ///< numbers
    };
    /// An update that is placed, and whose task, or whose settlement, is still to tell more of it.
    struct Placed {
        PeakAmount amount;
        std::size_t member = 0;
        bool guessed = false;  ///< not settled yet
        bool left = false;     ///< its task has not told anything since
        bool off = false;      ///< `moved` may be something else than what is likely
    };
    /// Updates that came to what is likely of them together.
    struct Group {
        std::size_t waiting = 0;
        std::vector<std::uint64_t> tickets;
    };
    /// More steps do not wait: two CPUs come to so many while a third is silent for as long as it may be.
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
    Fifo<WideStep> wide_;                                        ///< in the same order
    Fifo<Open> open_;                                            ///< likewise
    std::unordered_map<std::uint64_t, Placed> placed_;           ///< by ticket
    std::unordered_map<std::uint64_t, std::uint64_t> group_of_;  ///< by ticket
    std::unordered_map<std::uint64_t, Group> groups_;
    std::uint64_t group_count_ = 0;
    std::uint64_t last_ns_ = 0, last_processes_ = 0;  ///< of the step that was placed last
    RssTrack::Slack off_;                             ///< by how much `now_` may be off, of all that is placed
};

}  // namespace rsslag::core
