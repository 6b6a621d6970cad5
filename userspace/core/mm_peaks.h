// SPDX-License-Identifier: BSD-2-Clause
// The highest and the lowest rss of an mm, record by record, and its part in the rss of all mms together.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "peaks.h"
#include "rsslag/abi.h"

namespace rsslag::core {

/// Of the rss of all mms together; paused while an mm needs a resync. The lowest rss is that since the last mm joined
/// which had pages already.
class AllPeaks : public Peaks {
  public:
    std::size_t need_resync = 0;  ///< number of mms that need a resync

    /// The cached pages of an mm have changed by these amounts, when its counters were read. A later reading may
    /// replace them, so they count for the largest cached values only from the next record on.
    void join(const Members &by, std::uint64_t t_ns);
    /// To be called before a record changes anything.
    void note_joined();
    void move_cached(Member member, Pages by, const Instant &at);

    Extremes extremes() const;

  private:
    Members cached_;
    std::optional<std::uint64_t> joined_ns_;
};

/// The life of one of the processes that share an mm.
struct SharerLife {
    Members at_start;             ///< exact at the birth of the process
    std::optional<Members> last;  ///< exact at its end; nullopt: it lives
};

/// The extremes of an mm while one of the processes that share it lived.
struct SharerPeaks : SharerLife {
    int host_tgid = 0;
    Peaks peaks;
};

/// Passes each step of an mm's rss to the peaks of the mm, of each process that shares it, and of all mms. So the share
/// of the mm in the sum of all mms equals the sum in its own peaks, and all wait for the same tickets.
class MmPeaks {
  public:
    explicit MmPeaks(AllPeaks &all) : all_(&all) {}

    /// Starts from the counters, which are known now. The sum of all mms must have them already: by settle_all() with
    /// the same counters, or because the mm is new and they are 0.
    void start(const PeakStart &start, bool needs_resync);
    /// To be called if there were steps before the start.
    void start_missed() {
        each([](Peaks &peaks) { peaks.start_missed(); });
    }
    /// `first`: the mm did not need a resync before.
    void lost(bool first);
    /// To be called when the mm does not need a resync any more.
    void resynced();
    /// No more records of the mm follow: subtracts it from the sum of all mms.
    void close(const Members &exact, std::uint64_t t_ns, bool needs_resync);
    /// Makes this a copy that only shows settled amounts. It takes no more steps and does not change the sum of all
    /// mms.
    void detach() { all_ = nullptr; }

    /// Reports rss and lag by the counts in the records, before open updates are settled.
    void report(Pages rss, std::int64_t lag, std::uint64_t t_ns);
    void cached(Member member, std::int64_t pages, const Instant &at);
    void summed(std::int64_t pages);
    template <class Step>
    void record(const Step &step) {
        each([&step](Peaks &peaks) { peaks.record(step); });
    }
    /// `cpu` scheme: an update after which its CPU caches something; its amount is exact.
    void record_cached(const rsslag_update &update, std::int64_t pages);
    /// `cpu` scheme: an update after which its CPU caches nothing; its amount is open.
    void record_fold(const rsslag_update &update, const CounterEvent &event, std::uint64_t ticket);
    /// Sets the amounts of updates that were recorded as open.
    void settle(const std::vector<PeakAmount> &amounts, Sure sure);
    /// Settles all open steps: their sum is the value of the counters.
    void settle_all(const Members &exact, std::uint64_t t_ns);
    /// To be called when a reading shows that all steps so far are recorded.
    void rest() {
        own_.rest();
        for (SharerPeaks &each : sharers_)
            each.peaks.rest();
    }

    Extremes extremes() const { return own_.extremes(); }

    /// A process is born that shares the mm with its parent.
    void sharer_born(int host_tgid, const PeakStart &start);
    /// A process has ended that shared the mm, while others live in it.
    void sharer_ended(int host_tgid, const Members &exact, const Members &at_start);
    void forget_sharer(int host_tgid);
    /// Sets what `view` shows of the life of this process, if it shares or shared the mm with others: at_start, last
    /// and the extremes. Those of a process beyond the first kMostSharers are bounds, and marked so.
    void show_life(int host_tgid, MmView &view) const;

  private:
    template <class Use>
    void each(const Use &use) {
        if (all_ == nullptr) return;
        use(own_);
        for (SharerPeaks &sharer : sharers_)
            if (!sharer.last) use(sharer.peaks);
        use(*all_);
    }

    /// Each of them takes each step.
    static constexpr std::size_t kMostSharers = 32;

    Peaks own_;
    Members cached_;                          ///< the part of this mm in what is cached of all mms
    std::vector<SharerPeaks> sharers_;        ///< including those that have ended, until forget_sharer()
    std::map<int, SharerLife> more_sharers_;  ///< those beyond kMostSharers, by host TGID
    AllPeaks *all_;                           ///< null after close() and detach()
};

/// `thread` scheme: the step of an update, in the lane of what its task caches of this member.
WideStep step_of_task(const rsslag_update &update);
/// `thread` scheme: a step in the lane of all that the task caches.
WideStep step_of_task(int tid, std::uint64_t t_ns);
/// The possible moves of the counter by an update, less what its CPU had cached.
Amount guess(const CounterEvent &event);

}  // namespace rsslag::core
