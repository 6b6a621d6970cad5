// SPDX-License-Identifier: BSD-2-Clause
// Which tasks live in an mm, which have left it, and what may be missing, from hand-made events.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "analysis/analyzer.h"
#include "core/reading_figures.h"
#include "events.h"

namespace rsslag::analysis {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): helpers that make the events
using core::State;

constexpr int kChild = 4720;
constexpr std::uint64_t kChildsMm = kMm + 0x1000;

constexpr std::uint64_t ms(std::uint64_t n) {
    return n * 1'000'000;
}

std::vector<core::Tick> feed_all(TickAnalyzer &analyzer, std::vector<event::Event> events) {
    std::vector<core::Tick> all;
    for (event::Event &event : events) {
        auto ticks = analyzer.apply(std::move(event));
        std::move(ticks.begin(), ticks.end(), std::back_inserter(all));
    }
    return all;
}

/// A new group; `flags`: its relation to its parent.
event::Records child(std::uint64_t t_ns, rsslag_u16 kind, rsslag_u16 flags, std::uint64_t mm) {
    rsslag_task record{};
    record.kind = kind;
    record.flags = flags;
    record.tid = record.ns_tid = record.tgid = record.ns_tgid = kChild;
    record.parent = kPid;
    record.t_ns = kStart + t_ns;
    record.mm = mm;
    event::Records records;
    append(records, record);
    return records;
}

/// A group that starts and ends. What it holds in between is also its lag.
std::vector<event::Event> life(int tgid, std::uint64_t t_ns) {
    std::vector<event::Event> events;
    for (const rsslag_u16 kind : {RSSLAG_NEWTASK, RSSLAG_EXIT}) {
        rsslag_task record{};
        record.kind = kind;
        record.flags = kind == RSSLAG_EXIT ? RSSLAG_GROUP_DEAD : RSSLAG_TRACED;
        record.tid = record.ns_tid = record.tgid = record.ns_tgid = tgid;
        record.t_ns = kStart + t_ns++;
        record.mm = kMm + static_cast<std::uint64_t>(tgid) * 0x1000;
        event::Records records;
        append(records, record);
        events.emplace_back(std::move(records));
    }
    return events;
}

/// `tid` execs another program in a new mm, and has had so many faults by then.
event::Records exec(std::uint64_t t_ns, int tid, std::uint64_t faults) {
    rsslag_task record{};
    record.kind = RSSLAG_EXEC;
    record.flags = RSSLAG_TRACED;
    record.tid = record.ns_tid = record.tgid = record.ns_tgid = kPid;
    record.old_tid = tid;
    record.t_ns = kStart + t_ns;
    record.mm = kChildsMm;
    record.user_faults = faults;
    std::string("other").copy(record.comm, sizeof record.comm - 1);
    event::Records records;
    append(records, record);
    return records;
}

/// The first update of the mm that an exec makes.
event::Records newborn(std::uint64_t t_ns, int tid) {
    rsslag_update record{};
    record.kind = RSSLAG_UPDATE;
    record.flags = RSSLAG_NEWBORN;
    record.tid = tid;
    record.t_ns = kStart + t_ns;
    record.mm = kChildsMm;
    record.count = 1;
    record.member = 1;
    event::Records records;
    append(records, record);
    return records;
}

event::Records teardown(std::uint64_t t_ns, int tid) {
    event::Records records = update(t_ns, 0, tid);
    reinterpret_cast<rsslag_update *>(records.bytes.data())->flags = RSSLAG_OWN | RSSLAG_TEARDOWN;
    return records;
}

TEST(AnalyzerEnds, LeavesNameAndFaultsOfAnExecToTheOldProgram) {
    TickAnalyzer analyzer(facts(), {});
    std::vector<core::Tick> ticks = feed_all(
        analyzer, {attach(ms(1)), update(ms(10), 1100), newborn(ms(20), kPid), teardown(ms(21), kPid),
                   task(ms(22), RSSLAG_EXIT, 0, kPid + 1), exec(ms(23), kPid, 110), until(ms(900)),
                   event::Faults{{{kPid, {117, 0}}}}, event::Stop{at(ms(1000))}, event::End{at(ms(1001)), {}}});
    const auto old =
        std::find_if(ticks.begin(), ticks.end(), [](const auto &tick) { return tick.state == State::Exec; });
    ASSERT_NE(old, ticks.end());
    ASSERT_EQ(old->ledger.tasks.size(), 1U);
    EXPECT_EQ(old->ledger.tasks[0].comm, "worker");
    EXPECT_EQ(old->ledger.tasks[0].faults, 100U) << "10 of the faults were before the attach";
    EXPECT_EQ(analyzer.summary()->faults, 107U);
}

TEST(AnalyzerEnds, LeavesTidAndFaultsOfAnExecToTheThreadThatItWas) {
    TickAnalyzer analyzer(facts(), {});
    std::vector<core::Tick> ticks = feed_all(
        analyzer, {attach(ms(1)), update(ms(10), 1100, kPid + 1), task(ms(19), RSSLAG_EXIT, 0, kPid),
                   newborn(ms(20), kPid + 1), teardown(ms(21), kPid), exec(ms(23), kPid + 1, 106), until(ms(900)),
                   event::Faults{{{kPid, {7, 0}}}}, event::Stop{at(ms(1000))}, event::End{at(ms(1001)), {}}});
    const auto old =
        std::find_if(ticks.begin(), ticks.end(), [](const auto &tick) { return tick.state == State::Exec; });
    ASSERT_NE(old, ticks.end());
    ASSERT_EQ(old->ledger.tasks.size(), 1U);
    EXPECT_EQ(old->ledger.tasks[0].tid, kPid + 1);
    EXPECT_EQ(old->ledger.tasks[0].comm, "worker");
    EXPECT_EQ(old->ledger.tasks[0].faults, 100U) << "6 of the faults were before the attach";
    EXPECT_EQ(analyzer.summary()->faults, 107U);
}

TEST(AnalyzerEnds, KeepsThoseThatLaggedMostAndCountsTheOthers) {
    constexpr int kLives = 5000;
    constexpr std::size_t kMost = 2000;
    TickAnalyzer analyzer(facts(), {});
    std::vector<core::Tick> ticks = feed_all(analyzer, {attach(ms(1))});
    for (int i = 1; i <= kLives; ++i) {
        feed_all(analyzer, life(10'000 + i, ms(10) + static_cast<std::uint64_t>(i) * 10));
        if (i % 100 == 0) feed_all(analyzer, {until(ms(10) + static_cast<std::uint64_t>(i + 1) * 10)});
    }
    feed_all(analyzer, {until(ms(9000)), reading(ms(9100), 1000), tick_end(ms(9200)), event::Stop{at(ms(9300))},
                        event::End{at(ms(9400)), {}}});
    const core::Summary &summary = *analyzer.summary();
    EXPECT_EQ(summary.processes.size(), kMost + 1) << "including the living process";
    EXPECT_EQ(summary.left_out.processes, kLives - kMost);
    EXPECT_TRUE(std::is_sorted(summary.processes.begin(), summary.processes.end() - 1,
                               [](const auto &a, const auto &b) { return a.pid < b.pid; }));
    EXPECT_EQ(summary.processes.front().pid, 10'000 + kLives - static_cast<int>(kMost) + 1)
        << "of processes with equal values the latest ones are kept";
}

TEST(AnalyzerEnds, CountsNoMoreLostThanThereWere) {
    TickAnalyzer analyzer(facts(), {});
    const auto ticks = feed_all(analyzer, {attach(ms(1)), update(ms(10), 1010), event::Gap{6786, 1}, until(ms(48)),
                                           reading(ms(60), 1010), tick_end(ms(65))});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].lost, 6786U);
    EXPECT_EQ(ticks[0].emitted, 6787U);
}

TEST(AnalyzerEnds, ReportsHowManyTasksShareTheMmWhileItRuns) {
    TickAnalyzer analyzer(facts(), {});
    const auto ticks = feed_all(analyzer, {attach(ms(1)), until(ms(40)), reading(ms(50), 1000), tick_end(ms(60))});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(core::figures_of(ticks[0]).mm_tasks, 2U);
}

TEST(AnalyzerEnds, NamesTheTasksWhoseFaultsItsNextTickWillAskFor) {
    TickAnalyzer analyzer(facts(), {});
    feed_all(analyzer,
             {attach(ms(1)), until(ms(20)), task(ms(30), RSSLAG_NEWTASK, RSSLAG_SHARES_MM | RSSLAG_SAME_GROUP, 4713),
              update(ms(31), 1001, 4713), task(ms(32), RSSLAG_EXIT, 0, 4713)});
    EXPECT_EQ(analyzer.tids(), (std::vector<int>{kPid, kPid + 1, 4713}));
}

TEST(AnalyzerEnds, CountsAnMmOnceItsLastTracedProcessHasLeftItEvenIfUntracedOnesRemain) {
    TickAnalyzer analyzer(facts(), {});
    const auto ticks =
        feed_all(analyzer, {attach(ms(1)), child(ms(5), RSSLAG_NEWTASK, RSSLAG_SHARES_MM, kMm), update(ms(10), 1010),
                            task(ms(20), RSSLAG_EXIT, 0, kPid + 1), task(ms(21), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kPid),
                            until(ms(100)), until(ms(3000)), event::Stop{at(ms(3001))}, event::End{at(ms(3002)), {}}});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].state, State::Exited);
    ASSERT_TRUE(analyzer.summary());
    EXPECT_EQ(analyzer.summary()->updates, 1U);
}

TEST(AnalyzerEnds, CountsAnMmOnceThoughTwoProcessesLeaveItAtOnce) {
    TickAnalyzer analyzer(facts(), {});
    constexpr rsslag_u16 kTraced = RSSLAG_SHARES_MM | RSSLAG_TRACED;
    event::Records teardown = update(ms(22), 0);
    rsslag_update last{};
    std::memcpy(&last, teardown.bytes.data(), sizeof(last));
    last.flags = RSSLAG_TEARDOWN | RSSLAG_EXITING;
    std::memcpy(teardown.bytes.data(), &last, sizeof(last));
    feed_all(analyzer, {attach(ms(1)), child(ms(5), RSSLAG_NEWTASK, kTraced, kMm), update(ms(10), 1010),
                        task(ms(19), RSSLAG_EXIT, 0, kPid + 1), child(ms(20), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kMm),
                        task(ms(21), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kPid), teardown, until(ms(100)),
                        event::Stop{at(ms(101))}, event::End{at(ms(102)), {}}});
    ASSERT_TRUE(analyzer.summary());
    EXPECT_EQ(analyzer.summary()->updates, 2U);
}

TEST(AnalyzerEnds, MarksAnMmWhoseBirthIsAppliedAfterALossAsUncertain) {
    TickAnalyzer analyzer(facts(), {});
    const auto ticks = feed_all(
        analyzer, {attach(ms(1)), child(ms(30), RSSLAG_NEWTASK, RSSLAG_TRACED, kChildsMm), losses(ms(50), 9, 3),
                   child(ms(60), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kChildsMm), until(ms(100)), event::Stop{at(ms(101))}});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_TRUE(ticks[0].needs_resync);
}

TEST(AnalyzerEnds, MarksAnMmThatWasBornInAMissingPartAsUncertain) {
    TickAnalyzer analyzer(facts(), {});
    const auto ticks = feed_all(
        analyzer,
        {attach(ms(1)), until(ms(20)), event::Gap{3, 1}, child(ms(30), RSSLAG_NEWTASK, RSSLAG_TRACED, kChildsMm),
         child(ms(60), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kChildsMm), until(ms(100)), event::Stop{at(ms(101))}});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_TRUE(ticks[0].needs_resync);
}

TEST(AnalyzerEnds, DoesNotMarkAnMmThatWasBornAfterALossWasReported) {
    TickAnalyzer analyzer(facts(), {});
    const auto ticks = feed_all(
        analyzer, {attach(ms(1)), losses(ms(50), 9, 3), child(ms(60), RSSLAG_NEWTASK, RSSLAG_TRACED, kChildsMm),
                   child(ms(70), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kChildsMm), until(ms(100)), event::Stop{at(ms(101))}});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_FALSE(ticks[0].needs_resync);
}

const core::Summary::Process &of_pid(const core::Summary &summary, int pid) {
    return *std::find_if(summary.processes.begin(), summary.processes.end(),
                         [pid](const core::Summary::Process &each) { return each.pid == pid; });
}

TEST(AnalyzerEnds, SaysWhichNumbersALossMadeUncertain) {
    TickAnalyzer analyzer(facts(), {});
    feed_all(analyzer,
             {attach(ms(1)), until(ms(20)), event::Gap{3, 1}, child(ms(30), RSSLAG_NEWTASK, RSSLAG_TRACED, kChildsMm),
              child(ms(60), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kChildsMm), until(ms(100)), reading(ms(200), 1040),
              tick_end(ms(210)), event::Stop{at(ms(301))}, event::End{at(ms(302)), {}}});
    const auto &old = of_pid(*analyzer.summary(), kPid);
    EXPECT_FALSE(old.start_approximate) << "its first reading was before the loss";
    EXPECT_TRUE(old.baseline_approximate) << "the resync adds the lost changes to the baseline";
    EXPECT_FALSE(old.final_approximate) << "it was read again after the loss";
    const auto &born = of_pid(*analyzer.summary(), kChild);
    EXPECT_TRUE(born.start_approximate);
    EXPECT_TRUE(born.baseline_approximate);
    EXPECT_TRUE(born.final_approximate) << "the child was never read";
}

TEST(AnalyzerEnds, SaysThatNoneIsUncertainWhereNothingWasLost) {
    TickAnalyzer analyzer(facts(), {});
    feed_all(analyzer,
             {attach(ms(1)), child(ms(30), RSSLAG_NEWTASK, RSSLAG_TRACED, kChildsMm),
              child(ms(60), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kChildsMm), until(ms(100)), reading(ms(200), 1000),
              tick_end(ms(210)), event::Stop{at(ms(301))}, event::End{at(ms(302)), {}}});
    for (const auto &each : analyzer.summary()->processes)
        EXPECT_FALSE(each.start_approximate || each.baseline_approximate || each.final_approximate) << each.pid;
}

TEST(AnalyzerEnds, MarksTheStartOfACommandWhoseExecWasLostAsUncertain) {
    TickAnalyzer analyzer(facts(), {});
    core::TimedCounters found{counters(694), kStart + ms(60), kStart + ms(61)};
    feed_all(analyzer, {event::ExecAwaited{kPid, kPid, kChildsMm}, losses(ms(50), 9, 3), until(ms(48)),
                        event::Counters{kPid, found}, until(ms(100)), reading(ms(200), 694), tick_end(ms(210)),
                        event::Stop{at(ms(301))}, event::End{at(ms(302)), {}}});
    const auto &command = of_pid(*analyzer.summary(), kPid);
    EXPECT_EQ(command.at_start, members(0, 694));
    EXPECT_TRUE(command.start_approximate)
        << "the value is that of the first reading, which may be later than the exec";
}

TEST(AnalyzerEnds, MarksTheLastTickOfWhatEndedBeforeAnyReadingAfterALoss) {
    TickAnalyzer analyzer(facts(), {});
    event::Records teardown = update(ms(72), 0);
    rsslag_update last{};
    std::memcpy(&last, teardown.bytes.data(), sizeof(last));
    last.flags = RSSLAG_TEARDOWN | RSSLAG_EXITING;
    std::memcpy(teardown.bytes.data(), &last, sizeof(last));
    const auto ticks =
        feed_all(analyzer, {attach(ms(1)), update(ms(10), 1010), until(ms(20)), losses(ms(50), 9, 3),
                            task(ms(70), RSSLAG_EXIT, 0, kPid + 1), task(ms(71), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kPid),
                            teardown, until(ms(100)), event::Stop{at(ms(301))}, event::End{at(ms(302)), {}}});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_TRUE(ticks[0].ledger.torn_down);
    EXPECT_TRUE(ticks[0].needs_resync);
    EXPECT_TRUE(of_pid(*analyzer.summary(), kPid).final_approximate);
}

TEST(AnalyzerEnds, CountsReadingsThatFailedOfProcessesThatAreThere) {
    TickAnalyzer analyzer(facts(), {});
    const event::Reading failed{kPid, core::Error{core::Kind::Io, "too many open files", 24, ""}};
    const auto ticks = feed_all(analyzer, {attach(ms(1)), until(ms(20)), failed, tick_end(ms(30)), until(ms(40)),
                                           failed, tick_end(ms(50)), until(ms(60)), reading(ms(70), 1000),
                                           tick_end(ms(80)), event::Stop{at(ms(301))}, event::End{at(ms(302)), {}}});
    EXPECT_EQ(ticks.size(), 1U);
    EXPECT_EQ(analyzer.summary()->readings_failed, 2U);
    EXPECT_EQ(analyzer.readings_failed(), 2U);
}

/// An idle group with a thousand pages, of which CPU 1 caches this many.
core::CounterReading cached_on_cpu_1(std::int64_t pages) {
    core::CounterReading reading = counters(1000 - pages, core::Scheme::Cpu);
    if (pages != 0) reading.last.cpus = {{1, members(0, pages)}};
    reading.first = reading.last;
    return reading;
}

event::Reading of(core::CounterReading counters, std::uint64_t t_ns) {
    event::Reading one = reading(t_ns, 1000, false, core::Scheme::Cpu);
    one.reported->bracket.readings = {std::move(counters)};
    return one;
}

TEST(AnalyzerEnds, TakesWhatACpuCachedForFlushedOnceItIsSaidToBeOffline) {
    for (const bool reported : {false, true}) {
        TickAnalyzer analyzer(facts(core::Scheme::Cpu), {});
        event::Attach begin = attach(ms(1));
        begin.counters.counters = cached_on_cpu_1(20);
        feed_all(analyzer, {begin, until(ms(48)), of(cached_on_cpu_1(0), ms(50))});
        if (reported) analyzer.apply(event::CpusFolded{kStart + ms(40), kStart + ms(49)});
        const auto first = analyzer.apply(tick_end(ms(60)));
        ASSERT_EQ(first.size(), 1U);
        EXPECT_EQ(first[0].ledger.disagreements, 0U);
        EXPECT_EQ(first[0].ledger.suspect, !reported) << "a late record may explain the difference";
        EXPECT_EQ(core::figures_of(first[0]).verdict, reported ? core::Verdict::Unwalked : core::Verdict::Moving);
        feed_all(analyzer, {until(ms(648)), of(cached_on_cpu_1(0), ms(650))});
        const auto ticks = analyzer.apply(tick_end(ms(660)));
        ASSERT_EQ(ticks.size(), 1U);
        EXPECT_EQ(ticks[0].ledger.disagreements, reported ? 0U : 2U);
        EXPECT_EQ(ticks[0].ledger.resyncs, 1U);
        EXPECT_EQ(ticks[0].ledger.exact(), members(0, 1000));
        EXPECT_EQ(ticks[0].ledger.cached, core::Members{});
        EXPECT_FALSE(ticks[0].needs_resync);
        for (const core::TaskNet &task : ticks[0].ledger.tasks)
            EXPECT_EQ(task.uncertain, core::Pages{reported ? 0 : 512})
                << "the fold of an offline CPU changes no task's net";
    }
}

TEST(AnalyzerEnds, ReadsAgainWhatWasReadBeforeACpuWasSaidToBeOffline) {
    TickAnalyzer analyzer(facts(core::Scheme::Cpu), {});
    event::Attach begin = attach(ms(1));
    begin.counters.counters = cached_on_cpu_1(20);
    feed_all(analyzer, {begin, until(ms(48)), of(cached_on_cpu_1(20), ms(50)),
                        event::CpusFolded{kStart + ms(40), kStart + ms(55)}});
    EXPECT_TRUE(analyzer.apply(tick_end(ms(60))).at(0).needs_resync);
    feed_all(analyzer, {until(ms(98)), of(cached_on_cpu_1(0), ms(100))});
    const auto ticks = analyzer.apply(tick_end(ms(110)));
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].ledger.disagreements, 0U);
    EXPECT_FALSE(ticks[0].needs_resync);
}

TEST(AnalyzerEnds, ReadsAgainWhatWasReadBeforeALoss) {
    TickAnalyzer analyzer(facts(core::Scheme::Cpu), {});
    event::Attach begin = attach(ms(1));
    begin.counters.counters = cached_on_cpu_1(20);
    feed_all(analyzer, {begin, until(ms(48)), of(cached_on_cpu_1(20), ms(50)), losses(ms(58), 9, 3)});
    EXPECT_TRUE(analyzer.apply(tick_end(ms(60))).at(0).needs_resync) << "the lost records may be of the time since";
    feed_all(analyzer, {until(ms(98)), of(cached_on_cpu_1(20), ms(100))});
    const auto ticks = analyzer.apply(tick_end(ms(110)));
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_FALSE(ticks[0].needs_resync);
}

/// Its name at its end, after `start`.
std::string name_at_end(event::Event start) {
    TickAnalyzer analyzer(facts(), {});
    const auto ticks =
        feed_all(analyzer, {std::move(start), tick_end(ms(5)), task(ms(20), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kPid + 1),
                            until(ms(100)), event::Stop{at(ms(3000))}, event::End{at(ms(3001)), {}}});
    EXPECT_EQ(ticks.back().state, State::Exited);
    EXPECT_EQ(analyzer.summary()->processes.at(0).comm, ticks.back().process.comm);
    return ticks.back().process.comm;
}

TEST(AnalyzerEnds, NamesAProcessAfterItsLeaderAlsoIfThatEndedBeforeTheOthers) {
    event::Attach first = attach(ms(1));
    first.counters.counters.tasks = {core::test::task(kPid + 1, {})};
    EXPECT_EQ(name_at_end(first), "worker") << "an old recording does not contain the leader's name";
    first.counters.counters.comm = "leader";
    EXPECT_EQ(name_at_end(first), "leader");
    event::Reading read = reading(ms(1), 1000);
    read.reported->comm = "leader";
    read.reported->bracket.readings[0].tasks = first.counters.counters.tasks;
    EXPECT_EQ(name_at_end(read), "leader") << "there is no attach, so the name is that of the reading";
}

}  // namespace
}  // namespace rsslag::analysis
