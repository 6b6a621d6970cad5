// SPDX-License-Identifier: BSD-2-Clause
// Compares the search with one that tries every order and every amount, and has traces that once failed.
#include "core/order_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "dice.h"

namespace rsslag::core::test {
namespace {

constexpr std::uint64_t kNever = UINT64_MAX / 2;
constexpr std::uint64_t kSkew = OrderSearch::kClockSkewNs;

struct Bounds {
    std::map<std::size_t, PageRange> updates;  ///< by event
    std::map<int, PageRange> tasks;
    bool any = false;

    static void widen(PageRange &range, std::int64_t value, bool first) {
        range = first ? PageRange{value, value} : PageRange{std::min(range.least, value), std::max(range.most, value)};
    }
};

/// Tries every order of steps that CPUs, tasks and times allow, with every amount.
class BruteForce {
  public:
    BruteForce(const std::vector<CounterEvent> &events, std::int64_t count, CountRead read)
        : events_(events), read_(read), count_(count), amounts_(events.size()), done_(events.size()) {
        for (std::size_t i = 0; i < events.size(); ++i)
            lanes_[events[i].cpu].push_back(i);
        for (const auto &[cpu, lane] : lanes_)
            at_[cpu] = {0, false};
        go();
    }
    Bounds bounds;

  private:
    struct At {
        std::size_t event = 0;
        bool updated = false;
    };
    struct Next {
        std::size_t event;
        bool update;
        std::uint64_t earliest, latest;
    };

    std::optional<Next> next(int cpu) const {
        const At &at = at_.at(cpu);
        const std::vector<std::size_t> &lane = lanes_.at(cpu);
        if (at.event == lane.size()) return std::nullopt;
        const CounterEvent &event = events_[lane[at.event]];
        if (event.update && !at.updated) return Next{lane[at.event], true, event.begin_ns, event.t_ns};
        return Next{lane[at.event], false, event.t_ns, event.end_ns};
    }
    bool allowed(int cpu, const Next &step) const {
        for (const auto &[other, lane] : lanes_) {
            const auto first = other == cpu ? std::nullopt : next(other);
            if (first && first->latest + kSkew < step.earliest) return false;
        }
        const CounterEvent &event = events_[step.event];
        if (event.follows == 0 || (event.update && !step.update)) return true;
        for (std::size_t i = 0; i < events_.size(); ++i)
            if (events_[i].number == event.follows) return done_[i];
        return true;
    }
    void go() {
        bool at_end = true;
        for (const auto &[cpu, lane] : lanes_) {
            const auto step = next(cpu);
            if (!step) continue;
            at_end = false;
            if (allowed(cpu, *step)) take(cpu, *step);
        }
        if (at_end) note();
    }
    void take(int cpu, const Next &step) {
        const At was = at_[cpu];
        const CounterEvent &event = events_[step.event];
        if (!step.update) {
            if (event.count != count_) return;
            at_[cpu] = {was.event + 1, false};
            done_[step.event] = true;
            go();
            done_[step.event] = false;
            at_[cpu] = was;
            return;
        }
        for (const PageRange &range : event.moved.ranges()) {
            for (std::int64_t moved = range.least; moved <= range.most; ++moved) {
                count_ += moved;
                amounts_[step.event] = moved;
                const bool at_once = read_ == CountRead::AtOnce;
                at_[cpu] = at_once ? At{was.event + 1, false} : At{was.event, true};
                done_[step.event] = at_once;
                if (!at_once || count_ == event.count) go();
                done_[step.event] = false;
                count_ -= moved;
            }
        }
        at_[cpu] = was;
    }
    void note() {
        std::map<int, std::int64_t> sums;
        for (std::size_t i = 0; i < events_.size(); ++i) {
            if (!events_[i].update) continue;
            Bounds::widen(bounds.updates[i], amounts_[i], !bounds.any);
            sums[events_[i].tid] += amounts_[i];
        }
        for (const auto &[tid, sum] : sums)
            Bounds::widen(bounds.tasks[tid], sum, !bounds.any);
        bounds.any = true;
    }

    const std::vector<CounterEvent> &events_;
    CountRead read_;
    std::int64_t count_;
    std::map<int, std::vector<std::size_t>> lanes_;
    std::map<int, At> at_;
    std::vector<std::int64_t> amounts_;
    std::vector<bool> done_;
};

/// A trace of concurrent CPUs, among which tasks migrate.
struct Trace {
    std::vector<CounterEvent> events;
    std::vector<std::int64_t> truth;  ///< by event
};

Trace random_trace(Dice &dice, CountRead read) {
    const int cpus = static_cast<int>(dice.between(2, 3));
    const auto each = static_cast<std::size_t>(cpus == 2 ? dice.between(1, 4) : dice.between(1, 2));
    struct Cpu {
        std::size_t made = 0;
        std::uint64_t reported_ns = 0;
        int phase = 0;
        std::size_t event = 0;
    };
    std::vector<Cpu> state(static_cast<std::size_t>(cpus));
    std::map<int, std::uint64_t> reported_by_task, number_of_task;
    std::map<int, int> busy;
    Trace trace;
    std::vector<CounterEvent> &events = trace.events;
    std::int64_t count = 0;
    std::uint64_t now = 10'000;
    std::size_t updates = 0;
    for (;;) {
        std::vector<std::size_t> able;
        for (std::size_t i = 0; i < state.size(); ++i)
            if (state[i].phase != 0 || state[i].made < each) able.push_back(i);
        if (able.empty()) break;
        const std::size_t which = able[static_cast<std::size_t>(dice.between(0, static_cast<int>(able.size()) - 1))];
        Cpu &cpu = state[which];
        now += static_cast<std::uint64_t>(dice.once_in(6) ? dice.between(1'000, 4'000) : dice.between(10, 900));
        if (cpu.phase == 0) {  // the update
            CounterEvent event;
            event.cpu = static_cast<int>(which);
            do {
                event.tid = static_cast<int>(100 + dice.between(0, cpus));
            } while (busy[event.tid] != 0);
            busy[event.tid] = 1;
            event.begin_ns = std::max(cpu.reported_ns, reported_by_task[event.tid]);
            event.end_ns = kNever;
            event.update = read == CountRead::AtOnce || (updates < 5 && !dice.once_in(3));
            std::int64_t moved = 0;
            if (event.update) {
                ++updates;
                const std::int64_t kind = dice.between(0, 3);
                event.moved = kind == 0   ? PageSet{{1, 1}}
                              : kind == 1 ? PageSet{{-3, -1}, {0, 0}}
                              : kind == 2 ? PageSet{{-2, -2}, {1, 2}}
                                          : PageSet{{0, 0}, {4, 4}};
                const auto ranges = event.moved.ranges();
                const PageRange &range =
                    ranges[static_cast<std::size_t>(dice.between(0, static_cast<int>(ranges.size()) - 1))];
                moved = dice.between(static_cast<int>(range.least), static_cast<int>(range.most));
            }
            count += moved;
            event.count = count;
            cpu.event = events.size();
            cpu.phase = 1;
            events.push_back(event);
            trace.truth.push_back(moved);
        } else if (cpu.phase == 1) {  // the time
            CounterEvent &event = events[cpu.event];
            event.t_ns = now;
            for (std::size_t i = events.size(); i-- > 0;) {
                if (i == cpu.event || events[i].cpu != event.cpu || events[i].end_ns != kNever) continue;
                events[i].end_ns = now;
            }
            cpu.phase = 2;
        } else {  // the reading
            CounterEvent &event = events[cpu.event];
            if (read == CountRead::Later) event.count = count;
            if (read == CountRead::AtOnce) event.end_ns = event.t_ns;
            cpu.reported_ns = reported_by_task[event.tid] = event.t_ns;
            busy[event.tid] = 0;
            cpu.phase = 0;
            ++cpu.made;
        }
    }
    // A program sends its record after reading the values, so the records of tasks are in the order of their times.
    std::vector<std::size_t> by_time(events.size());
    for (std::size_t i = 0; i < by_time.size(); ++i)
        by_time[i] = i;
    std::sort(by_time.begin(), by_time.end(), [&](auto a, auto b) { return events[a].t_ns < events[b].t_ns; });
    Trace sorted;
    for (const std::size_t i : by_time) {
        CounterEvent event = events[i];
        event.number = sorted.events.size() + 1;
        event.follows = std::exchange(number_of_task[event.tid], event.number);
        sorted.events.push_back(event);
        sorted.truth.push_back(trace.truth[i]);
    }
    return sorted;
}

void expect_as_brute_force(CountRead read, int rounds) {
    Dice dice(20261122);
    int open = 0;
    for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
        SCOPED_TRACE(testing::Message() << "round " << round);
        const Trace trace = random_trace(dice, read);
        const BruteForce all(trace.events, 0, read);
        ASSERT_TRUE(all.bounds.any) << "the true order must be among the possible orders";
        const OrderSearch search(trace.events, 0, read);
        const OrderSearch::Solution solution = search.all();
        std::map<int, std::int64_t> truth, likely;
        for (std::size_t i = 0; i < trace.events.size(); ++i) {
            if (!trace.events[i].update) continue;
            ASSERT_TRUE(solution.done[i]);
            const Amount &moved = solution.moved[i];
            const PageRange &bounds = all.bounds.updates.at(i);
            EXPECT_EQ(moved.least, bounds.least) << "event " << i;
            EXPECT_EQ(moved.most, bounds.most) << "event " << i;
            EXPECT_LE(bounds.least, trace.truth[i]);
            EXPECT_GE(bounds.most, trace.truth[i]);
            EXPECT_LE(moved.least, moved.likely);
            EXPECT_GE(moved.most, moved.likely);
            open += moved.least != moved.most ? 1 : 0;
            truth[trace.events[i].tid] += trace.truth[i];
            likely[trace.events[i].tid] += moved.likely;
        }
        for (const auto &[tid, sum] : solution.by_task) {
            const PageRange &bounds = all.bounds.tasks.at(tid);
            EXPECT_EQ(sum.least, bounds.least) << "task " << tid;
            EXPECT_EQ(sum.most, bounds.most) << "task " << tid;
            EXPECT_LE(sum.least, truth[tid]);
            EXPECT_GE(sum.most, truth[tid]);
            EXPECT_EQ(sum.likely, likely[tid]);
        }
        // Later records never contradict what was certain early.
        if (const auto certain = search.certain(kNever)) {
            for (std::size_t i = 0; i < trace.events.size(); ++i) {
                if (!trace.events[i].update || !certain->done[i]) continue;
                EXPECT_LE(certain->moved[i].least, trace.truth[i]);
                EXPECT_GE(certain->moved[i].most, trace.truth[i]);
            }
        }
    }
    EXPECT_GT(open, rounds / 50) << "the traces are too simple to test anything";
}

TEST(OrderSearch, FindsWhatEveryOrderOfFoldsAllows) {
    expect_as_brute_force(CountRead::Later, runs(3'000));
}

TEST(OrderSearch, FindsWhatEveryOrderOfFlushesAllows) {
    expect_as_brute_force(CountRead::AtOnce, runs(3'000));
}

CounterEvent fold(int cpu, std::uint64_t begin, std::uint64_t t, std::uint64_t end, std::int64_t count, PageSet moved) {
    CounterEvent event;
    event.begin_ns = begin;
    event.t_ns = t;
    event.end_ns = end;
    event.cpu = cpu;
    event.tid = 100 + cpu;
    event.count = count;
    event.update = true;
    event.moved = std::move(moved);
    return event;
}

TEST(OrderSearch, JoinsAZapWithTheFoldThatItsCountMayHold) {
    // CPU 1 was interrupted for 15 us between its fold and its record; CPU 0's count includes both. CPU 1 may as well
    // have cancelled what it had: neither amount is certain, only their sum.
    const std::vector<CounterEvent> events{
        fold(0, 50'000, 60'000, 61'000, 832, {{-512, -32}, {0, 0}}),
        fold(1, 48'000, 75'000, 76'000, 832, {{-480, -32}, {0, 0}}),
    };
    const OrderSearch search(events, 1'000, CountRead::Later);
    const auto solution = search.certain(10'000'000);
    ASSERT_TRUE(solution);
    EXPECT_EQ(solution->count, 832);
    EXPECT_EQ(solution->moved[0].least, -168);
    EXPECT_EQ(solution->moved[0].most, 0);
    EXPECT_EQ(solution->moved[0].likely + solution->moved[1].likely, -168);
}

TEST(OrderSearch, FindsAFaultOfOnePageWhateverElseFolded) {
    const std::vector<CounterEvent> events{
        fold(0, 50'000, 60'000, 61'000, 832, {{-512, -32}, {0, 0}}),
        fold(1, 48'000, 75'000, 76'000, 832, PageSet::only(32)),
    };
    const auto solution = OrderSearch(events, 1'000, CountRead::Later).certain(10'000'000);
    ASSERT_TRUE(solution);
    EXPECT_EQ(solution->moved[0].least, -200);
    EXPECT_EQ(solution->moved[0].most, -200);
}

TEST(OrderSearch, WaitsForRecordsThatMayStillCome) {
    const std::vector<CounterEvent> events{fold(0, 50'000, 60'000, kNever, 832, {{-512, -32}, {0, 0}})};
    EXPECT_FALSE(OrderSearch(events, 1'000, CountRead::Later).certain(60'500));
}

TEST(OrderSearch, ReportsThatNoOrderExplainsTheCounts) {
    const std::vector<CounterEvent> events{fold(0, 50'000, 60'000, 61'000, 832, PageSet::only(32))};
    const OrderSearch search(events, 1'000, CountRead::Later);
    EXPECT_FALSE(search.contradictory(61'500)) << "a fold whose record has not come may explain the count";
    EXPECT_TRUE(search.contradictory(10'000'000));
    EXPECT_FALSE(search.certain(10'000'000));
}

TEST(OrderSearch, IsAbandonedBeforeTheSumsOfManyTasksFillTheMemory) {
    constexpr std::size_t kTasks = 8'000;
    std::vector<CounterEvent> events;
    for (std::size_t i = 0; i < kTasks; ++i) {
        events.push_back(fold(0, 50'000, 60'000, 61'000, static_cast<std::int64_t>(i) + 1, PageSet::only(1)));
        events.back().number = i + 1;
        events.back().tid = static_cast<int>(i) + 1;
    }
    EXPECT_TRUE(OrderSearch(events, 0, CountRead::Later).abandoned());
    events.resize(500);
    EXPECT_FALSE(OrderSearch(events, 0, CountRead::Later).abandoned());
}

}  // namespace
}  // namespace rsslag::core::test
