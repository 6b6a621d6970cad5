// SPDX-License-Identifier: BSD-2-Clause
// The results of the analyzer for hand-made events: no kernel, no file, no clock.
#include "analysis/analyzer.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "core/reading_figures.h"
#include "events.h"

namespace rsslag::analysis::analyzer_test {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): helpers that make the events
using core::Pages;
using core::State;

constexpr std::uint64_t ms(std::uint64_t n) {
    return n * 1'000'000;
}

class AnalyzerTest : public testing::Test {
  protected:
    /// The resulting ticks.
    std::vector<core::Tick> feed(event::Event event) { return analyzer_.apply(std::move(event)); }
    std::vector<core::Tick> feed_all(std::vector<event::Event> events) {
        std::vector<core::Tick> all;
        for (event::Event &event : events) {
            auto ticks = feed(std::move(event));
            std::move(ticks.begin(), ticks.end(), std::back_inserter(all));
        }
        return all;
    }

    TickAnalyzer analyzer_{facts()};
};

TEST_F(AnalyzerTest, MakesATickOfEachReadingAtItsEnd) {
    feed(attach(ms(1)));
    feed(update(ms(10), 1030));
    feed(until(ms(40)));
    EXPECT_TRUE(feed(reading(ms(50), 1030)).empty());
    const auto ticks = feed(tick_end(ms(60)));
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].t_ns, ms(60));
    EXPECT_EQ(ticks[0].ledger.exact(), members(0, 1030));
    EXPECT_EQ(ticks[0].ledger.baseline, members(0, 1000));
    EXPECT_EQ(ticks[0].ledger.updates, 1U);
    EXPECT_EQ(ticks[0].ledger.disagreements, 0U);
    EXPECT_EQ(ticks[0].process.comm, "worker");
    EXPECT_EQ(ticks[0].time.time_since_epoch(), std::chrono::nanoseconds(kStartUnix + ms(60)));
}

TEST_F(AnalyzerTest, CountsATraceFromItsStartToItsEnd) {
    const auto ticks = feed_all(small_trace());
    ASSERT_EQ(ticks.size(), 3U);
    EXPECT_EQ(ticks[0].faults, 30U);
    EXPECT_EQ(ticks[0].lost, 0U);
    EXPECT_EQ(ticks[1].lost, 1U);
    EXPECT_EQ(ticks[1].ledger.resyncs, 1U);
    EXPECT_EQ(ticks[1].ledger.exact(), members(0, 1035));
    EXPECT_EQ(ticks[2].state, State::Exited);
    ASSERT_TRUE(analyzer_.summary());
    EXPECT_EQ(analyzer_.summary()->records, 6U);
    EXPECT_EQ(analyzer_.summary()->emitted, 7U);
    EXPECT_EQ(analyzer_.summary()->lost, 1U);
    EXPECT_EQ(analyzer_.summary()->duration_ns, ms(301));
    ASSERT_EQ(analyzer_.summary()->processes.size(), 1U);
    EXPECT_EQ(analyzer_.summary()->processes[0].state, State::Exited);
    EXPECT_FALSE(analyzer_.any());
}

TEST_F(AnalyzerTest, EndsWithATickOfWhoRunsOnAndHadRecordsAfterItsLastTick) {
    feed(attach(ms(1)));
    feed(update(ms(10), 1030));
    feed(until(ms(40)));
    feed(reading(ms(50), 1030));
    ASSERT_EQ(feed(tick_end(ms(60))).size(), 1U);
    feed(update(ms(70), 1500));
    feed(update(ms(80), 1490));
    const auto ticks = feed(event::Stop{at(ms(90))});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].state, State::Running);
    EXPECT_EQ(ticks[0].t_ns, ms(90));
    EXPECT_EQ(ticks[0].ledger.updates, 3U);
    EXPECT_EQ(ticks[0].ledger.exact(), members(0, 1490));
    const core::ReadingFigures figures = core::figures_of(ticks[0]);
    EXPECT_EQ(figures.verdict, core::Verdict::Unwalked);
    EXPECT_EQ(figures.walk_state, core::WalkState::Skipped);
    EXPECT_FALSE(figures.readers.stat || figures.behind || figures.walk || figures.residual);
    EXPECT_EQ(figures.lag, core::Pages{0});
    feed(event::End{at(ms(91)), {}});
    const core::Summary::Process &process = analyzer_.summary()->processes.at(0);
    EXPECT_EQ(analyzer_.summary()->updates, 3U);
    EXPECT_EQ(process.final, members(0, 1490));
    EXPECT_GE(process.extremes.most.to, core::Pages{1500});
    EXPECT_EQ(process.verdicts, (std::map<std::string, std::uint64_t>{{"unwalked", 2}}));
}

TEST_F(AnalyzerTest, EndsWithNoTickOfWhoHadNoUpdateAfterItsLastTick) {
    feed(attach(ms(1)));
    feed(until(ms(40)));
    feed(reading(ms(50), 1000));
    feed(tick_end(ms(60)));
    feed(task(ms(70), RSSLAG_EXIT, 0, kPid + 1));
    EXPECT_TRUE(feed(event::Stop{at(ms(90))}).empty()) << "no counter has changed";
}

TEST_F(AnalyzerTest, CountsWhatIsNoRecordAsLostAndWhatCameAfterItOnceAllHasCome) {
    feed(attach(ms(1)));
    event::Records records = update(ms(10), 1010);
    rsslag_update unknown{};
    unknown.kind = 999;
    append(records, unknown);
    append(records, unknown);
    feed(std::move(records));
    EXPECT_EQ(analyzer_.losses().by_cause.at("malformed"), 1U);
    feed(until(ms(40)));
    feed(reading(ms(50), 1012));
    const auto ticks = feed(tick_end(ms(60)));
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].lost_by.at("malformed"), 1U);
    EXPECT_EQ(ticks[0].ledger.resyncs, 1U);
    EXPECT_EQ(ticks[0].ledger.disagreements, 0U);
    feed(losses(ms(70), 3, 0));
    feed(event::Stop{at(ms(80))});
    feed(event::End{at(ms(81)), {}});
    ASSERT_TRUE(analyzer_.summary());
    EXPECT_EQ(analyzer_.summary()->emitted, 3U);
    EXPECT_EQ(analyzer_.summary()->lost, 2U);
}

TEST_F(AnalyzerTest, CountsAnUpdateOfAnUnknownCounterAsLost) {
    feed(attach(ms(1)));
    rsslag_update unknown{};
    unknown.kind = RSSLAG_UPDATE;
    unknown.flags = RSSLAG_OWN;
    unknown.tid = kPid;
    unknown.t_ns = ms(11);
    unknown.mm = kMm;
    unknown.count = 7;
    unknown.member = 4;
    event::Records records = update(ms(10), 1010);
    append(records, unknown);
    feed(std::move(records));
    feed(update(ms(12), 1012));
    feed(until(ms(40)));
    feed(reading(ms(50), 1012));
    const auto ticks = feed(tick_end(ms(60)));
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].lost_by.at("malformed"), 1U);
    EXPECT_EQ(ticks[0].ledger.resyncs, 1U);
    EXPECT_GT(ticks[0].ledger.possible_error.n, 0);
    feed(losses(ms(70), 3, 0));
    feed(event::Stop{at(ms(80))});
    feed(event::End{at(ms(81)), {}});
    ASSERT_TRUE(analyzer_.summary());
    EXPECT_EQ(analyzer_.summary()->records, 2U);
    EXPECT_EQ(analyzer_.summary()->emitted, 3U);
    EXPECT_EQ(analyzer_.summary()->lost, 1U);
    EXPECT_TRUE(analyzer_.summary()->at_least());
}

TEST_F(AnalyzerTest, KeepsRecordsUntilTheirTimeHasCome) {
    feed(attach(ms(1)));
    feed(update(ms(10), 1010));
    feed(update(ms(30), 1030));
    EXPECT_EQ(analyzer_.waiting().size(), 1U);
    feed(until(ms(20)));
    ASSERT_EQ(analyzer_.waiting().size(), 1U);
    EXPECT_EQ(analyzer_.waiting()[0].bytes.size(), sizeof(rsslag_update));
    feed(until(ms(31)));
    EXPECT_TRUE(analyzer_.waiting().empty());
}

TEST_F(AnalyzerTest, ShowsAWalkOfAnEarlierTickUntilSomethingChanges) {
    const auto tick = [this](std::uint64_t t_ns, std::int64_t anon, bool walk) {
        feed(reading(t_ns, anon, walk));
        auto ticks = feed(tick_end(t_ns + ms(5)));
        return std::move(ticks.at(0));
    };
    feed(attach(ms(1)));
    EXPECT_FALSE(tick(ms(10), 1000, true).stale_walk);
    const core::Tick stale = tick(ms(260), 1000, false);
    EXPECT_TRUE(stale.stale_walk);
    EXPECT_EQ(stale.process.walk_age_ms, 250);
    feed(event::FreshStart{});
    EXPECT_FALSE(tick(ms(500), 1000, false).process.walk);
    EXPECT_FALSE(tick(ms(600), 1000, true).stale_walk);
    feed(update(ms(650), 1001));
    EXPECT_FALSE(tick(ms(700), 1001, false).process.walk);
}

TEST_F(AnalyzerTest, AdoptsAProcessWhoseStartIsNotAmongTheEvents) {
    feed(update(ms(10), 1010));
    feed(until(ms(20)));
    feed(reading(ms(30), 1010));
    const auto ticks = feed(tick_end(ms(40)));
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].ledger.baseline, members(0, 1010));
    EXPECT_EQ(ticks[0].ledger.updates, 0U);
    ASSERT_EQ(analyzer_.groups().size(), 1U);
}

TEST_F(AnalyzerTest, MakesNoTickOfWhatAGapCutOff) {
    feed(attach(ms(1)));
    feed(reading(ms(30), 1000));
    feed(event::Gap{7, 1});
    EXPECT_TRUE(feed(tick_end(ms(40))).empty());
    EXPECT_EQ(analyzer_.losses().by_cause.at("recording"), 7U);
    feed(reading(ms(45), 1400));
    EXPECT_TRUE(feed(tick_end(ms(46))).empty()) << "other readings of this tick may be missing";
    feed(until(ms(50)));
    feed(reading(ms(60), 1500));
    const auto ticks = feed(tick_end(ms(70)));
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].lost, 7U);
    EXPECT_EQ(ticks[0].ledger.resyncs, 1U);
    EXPECT_EQ(ticks[0].ledger.exact(), members(0, 1500));
}

TEST_F(AnalyzerTest, ReportsNothingOfAProgramBeforeTheAwaitedExec) {
    feed(event::ExecAwaited{kPid, kPid, 0x1000});
    EXPECT_TRUE(analyzer_.any());
    EXPECT_TRUE(analyzer_.groups().empty());
    ASSERT_EQ(analyzer_.awaited().size(), 1U);
    rsslag_task exec{};
    exec.kind = RSSLAG_EXEC;
    exec.tid = exec.tgid = exec.ns_tid = exec.ns_tgid = exec.old_tid = kPid;
    exec.t_ns = kStart + ms(5);
    exec.mm = kMm;
    event::Records records;
    append(records, exec);
    feed(std::move(records));
    feed(until(ms(10)));
    EXPECT_TRUE(analyzer_.awaited().empty());
    ASSERT_EQ(analyzer_.groups().size(), 1U);
    ASSERT_EQ(analyzer_.unknown().size(), 1U) << "no record announced the mm that the exec made";
    feed(event::Counters{kPid, core::TimedCounters{counters(40), kStart + ms(11), kStart + ms(12)}});
    EXPECT_TRUE(analyzer_.unknown().empty());
    EXPECT_TRUE(analyzer_.adopted().empty());
}

TEST_F(AnalyzerTest, MarksAProcessThatWasFirstReadAfterItsExec) {
    rsslag_task exec{};
    exec.kind = RSSLAG_EXEC;
    exec.tid = exec.tgid = exec.ns_tid = exec.ns_tgid = exec.old_tid = kPid;
    exec.t_ns = kStart + ms(5);
    exec.mm = kMm;
    event::Records records;
    append(records, exec);
    feed(std::move(records));
    feed(update(ms(6), 1600));
    feed(task(ms(8), RSSLAG_NEWTASK, RSSLAG_SAME_GROUP | RSSLAG_TRACED | RSSLAG_SHARES_MM, kPid + 2, kMm));
    feed(until(ms(9)));
    feed(event::Counters{kPid, core::TimedCounters{counters(1600), kStart + ms(11), kStart + ms(12)}});
    feed(update(ms(10), 1600, kPid + 2));
    feed(task(ms(10) + 1, RSSLAG_EXIT, 0, kPid + 2));
    feed(until(ms(20)));
    feed(reading(ms(30), 1600));
    const auto ticks = feed(tick_end(ms(600)));
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_TRUE(ticks[0].ledger.start_approximate);
    EXPECT_TRUE(ticks[0].ledger.extremes.lossy) << "it may have held more before";
    EXPECT_TRUE(ticks[0].ledger.extremes.read_late) << "no record was lost";
    EXPECT_TRUE(ticks[0].ledger.others.empty()) << "the thread was of this process";
    feed(event::Stop{at(ms(700))});
    feed(event::End{at(ms(701)), {}});
    EXPECT_EQ(analyzer_.summary()->processes_read_late, 1U);
    EXPECT_EQ(analyzer_.summary()->processes_unread, 0U);
    EXPECT_TRUE(analyzer_.summary()->all.lossy);
}

TEST_F(AnalyzerTest, CountsAProcessThatEndedBeforeItsFirstReading) {
    feed(task(ms(5), RSSLAG_EXEC, RSSLAG_TRACED, kPid));
    feed(update(ms(6), 1600));
    feed(task(ms(8), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kPid));
    feed(until(ms(100)));
    feed(event::Stop{at(ms(700))});
    feed(event::End{at(ms(701)), {}});
    EXPECT_EQ(analyzer_.summary()->processes_unread, 1U);
    EXPECT_TRUE(analyzer_.summary()->processes.empty());
}

TEST_F(AnalyzerTest, CountsAProcessWithoutAReadingAtTheEnd) {
    feed(task(ms(5), RSSLAG_EXEC, RSSLAG_TRACED, kPid));
    feed(until(ms(100)));
    feed(event::Stop{at(ms(700))});
    feed(event::End{at(ms(701)), {}});
    EXPECT_EQ(analyzer_.summary()->processes_unread, 1U);
    EXPECT_TRUE(analyzer_.summary()->missed());
}

TEST_F(AnalyzerTest, CountsProcessesThatMatchAndAreNotTraced) {
    const auto failed = [](int pid, core::Kind kind, const char *what) {
        return event::Counters{pid, core::Error{kind, what, 0, ""}};
    };
    feed(attach(ms(1)));
    feed(failed(90, core::Kind::Gone, "it has ended"));
    feed(failed(90, core::Kind::Unsupported, "it is a zombie"));
    feed(failed(kPid, core::Kind::Io, "it is traced already"));
    feed(failed(91, core::Kind::Denied, "cannot read 91"));
    feed(failed(92, core::Kind::Io, "cannot read 92"));
    feed(failed(91, core::Kind::Denied, "cannot read 91"));
    feed(event::Stop{at(ms(700))});
    feed(event::End{at(ms(701)), {}});
    EXPECT_EQ(analyzer_.summary()->processes_not_traced, 2U);
    EXPECT_EQ(analyzer_.summary()->not_traced_reason, "cannot read 91");
}

TEST_F(AnalyzerTest, NotesThatProcessesCouldNotBeSearched) {
    feed(attach(ms(1)));
    feed(event::Counters{0, core::Error{core::Kind::Io, "cannot list processes", EMFILE, ""}});
    feed(event::Stop{at(ms(700))});
    feed(event::End{at(ms(701)), {}});
    EXPECT_EQ(analyzer_.summary()->processes_not_traced, 0U);
    EXPECT_EQ(analyzer_.summary()->not_traced_reason, "cannot list processes");
}

TEST_F(AnalyzerTest, TakesUpAProcessWhoseExecWasLost) {
    feed(event::ExecAwaited{kPid, kPid, 0x1000});
    feed(event::Counters{kPid, core::TimedCounters{counters(40), kStart + ms(11), kStart + ms(12)}});
    EXPECT_TRUE(analyzer_.awaited().empty());
    ASSERT_EQ(analyzer_.groups().size(), 1U);
    EXPECT_EQ(analyzer_.groups()[0].mm, kMm);
    EXPECT_EQ(analyzer_.adopted(), (std::vector<std::pair<int, std::uint64_t>>{{kPid, kMm}}));
}

TEST_F(AnalyzerTest, StopsAwaitingAProcessThatHasEnded) {
    feed(event::ExecAwaited{kPid, kPid, kMm});
    feed(event::Counters{kPid, core::TimedCounters{counters(40), kStart + ms(1), kStart + ms(2)}});
    EXPECT_EQ(analyzer_.awaited().size(), 1U) << "it still has the same mm, so the exec is still awaited";
    feed(event::Counters{kPid, core::Error{core::Kind::Gone, "it is gone", 0, ""}});
    EXPECT_FALSE(analyzer_.any());
}

TEST_F(AnalyzerTest, EndsAProcessThatIsGoneTwiceOnlyWhereItsExitMayBeLost) {
    feed(attach(ms(1)));
    for (std::uint64_t i = 1; i < 4; ++i) {
        feed(gone());
        feed(tick_end(ms(100 * i)));
    }
    EXPECT_EQ(analyzer_.groups().size(), 1U);
    feed(losses(ms(400), 5, 1));
    feed(gone());
    EXPECT_TRUE(analyzer_.groups().empty());
    feed(tick_end(ms(401)));
    const auto ticks = feed(event::Stop{at(ms(500))});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].state, State::Exited);
}

TEST_F(AnalyzerTest, TakesUpNoProcessThatHasTheNumberOfOneWhoseExitWasLost) {
    feed(attach(ms(1)));
    feed(losses(ms(20), 5, 1));
    auto other = reading(ms(50), 300);
    other.reported->started_ns = kStart + ms(40);
    other.reported->bracket.readings[0].mm = kMm + 0x1000;
    feed(other);
    EXPECT_TRUE(feed(tick_end(ms(60))).empty());
    EXPECT_TRUE(analyzer_.adopted().empty());
    EXPECT_EQ(analyzer_.groups().size(), 1U) << "its exit record may be late";
    feed(other);
    EXPECT_TRUE(analyzer_.groups().empty());
    EXPECT_TRUE(feed(tick_end(ms(70))).empty());
    EXPECT_TRUE(analyzer_.adopted().empty());
    const auto ticks = feed(event::Stop{at(ms(500))});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].state, State::Exited);
    EXPECT_EQ(ticks[0].ledger.exact(), members(0, 1000));
}

TEST_F(AnalyzerTest, ReadsAForkThatStartedJustBeforeItsRecord) {
    feed(task(ms(30), RSSLAG_NEWTASK, RSSLAG_TRACED, kPid));
    feed(until(ms(40)));
    feed(losses(ms(41), 5, 1));
    auto same = reading(ms(50), 300);
    same.reported->started_ns = kStart + ms(30) - 1000;
    feed(same);
    EXPECT_EQ(feed(tick_end(ms(60))).size(), 1U);
    auto other = reading(ms(150), 300);
    other.reported->started_ns = kStart + ms(100);
    feed(other);
    EXPECT_TRUE(feed(tick_end(ms(160))).empty());
}

TEST_F(AnalyzerTest, TakesUpNoProcessThatHasEndedSinceItsReading) {
    feed(attach(ms(1)));
    feed(losses(ms(20), 5, 1));
    auto after_exec = reading(ms(50), 300);
    after_exec.reported->bracket.readings[0].mm = kMm + 0x1000;
    feed(after_exec);
    feed(task(ms(50) + 500'000, RSSLAG_EXIT, 0, kPid + 1));
    feed(task(ms(50) + 500'000, RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kPid));
    feed(tick_end(ms(60)));
    EXPECT_TRUE(analyzer_.adopted().empty());
    EXPECT_TRUE(analyzer_.groups().empty());
}

event::AtExec at_exec(std::uint64_t t_ns, std::int64_t anon, int tid = kPid) {
    core::CounterReading read = counters(anon);
    read.mm_users = 1;
    read.tasks = {core::test::task(tid, {})};
    return {{std::move(read), kStart + t_ns, kStart + t_ns}};
}

event::Records teardown(std::uint64_t t_ns, int tid) {
    event::Records records = update(t_ns, 0, tid);
    rsslag_update record{};
    std::memcpy(&record, records.bytes.data(), sizeof(record));
    record.flags = RSSLAG_OWN | RSSLAG_EXITING | RSSLAG_TEARDOWN;
    records.bytes.clear();
    append(records, record);
    return records;
}

TEST_F(AnalyzerTest, KnowsAProcessThatMatchesFromItsExecOn) {
    feed(at_exec(ms(10), 50));
    feed(task(ms(10) + 100, RSSLAG_EXEC, RSSLAG_TRACED, kPid));
    feed(update(ms(11), 90));
    feed(update(ms(12), 80));
    feed(until(ms(40)));
    EXPECT_TRUE(analyzer_.unknown().empty());
    feed(reading(ms(50), 80));
    const auto ticks = feed(tick_end(ms(60)));
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].process.comm, "worker");
    EXPECT_EQ(ticks[0].ledger.baseline, members(0, 50));
    EXPECT_EQ(ticks[0].ledger.exact(), members(0, 80));
    EXPECT_EQ(ticks[0].ledger.updates, 2U);
    EXPECT_EQ(ticks[0].ledger.disagreements, 0U);
    EXPECT_GE(ticks[0].extremes.most.to, Pages{90});
    EXPECT_FALSE(ticks[0].extremes.lossy);
    feed(event::Stop{at(ms(70))});
    feed(event::End{at(ms(71)), {}});
    EXPECT_FALSE(analyzer_.summary()->at_least());
}

TEST_F(AnalyzerTest, KnowsProcessesThatMatchAndEndBeforeTheyAreRead) {
    // The second mm has the address of the first. The counters of all execs in a batch come before its records.
    const std::pair<std::uint64_t, int> two[] = {{ms(10), kPid}, {ms(20), kPid + 10}};
    for (const auto &[begin, tid] : two)
        feed(at_exec(begin, 50, tid));
    for (const auto &[begin, tid] : two) {
        feed(task(begin + 100, RSSLAG_EXEC, RSSLAG_TRACED, tid));
        feed(update(begin + 200, 90, tid));
        feed(teardown(begin + 300, tid));
        feed(task(begin + 400, RSSLAG_EXIT, RSSLAG_GROUP_DEAD, tid));
    }
    const auto ticks = feed(until(ms(40)));
    ASSERT_EQ(ticks.size(), 2U);
    for (const core::Tick &tick : ticks) {
        EXPECT_EQ(tick.state, State::Exited);
        EXPECT_EQ(tick.ledger.baseline, members(0, 50));
        EXPECT_EQ(tick.ledger.exact(), members(0, 0));
        EXPECT_EQ(tick.ledger.updates, 2U);
        EXPECT_GE(tick.extremes.most.to, Pages{90});
        EXPECT_FALSE(tick.extremes.lossy);
    }
    feed(event::Stop{at(ms(70))});
    feed(event::End{at(ms(71)), {}});
    EXPECT_EQ(analyzer_.summary()->processes_unread, 0U);
    EXPECT_EQ(analyzer_.summary()->ended_mms, 2U);
    EXPECT_EQ(analyzer_.summary()->ended_not_at_zero, 0U);
}

TEST_F(AnalyzerTest, TakesNoCountersOfAnotherExec) {
    feed(at_exec(ms(10), 50, kPid + 1));
    feed(task(ms(10) + 100, RSSLAG_EXEC, RSSLAG_TRACED, kPid));
    feed(at_exec(ms(10) + 200, 50));
    feed(until(ms(40)));
    EXPECT_EQ(analyzer_.unknown().size(), 1U) << "its counters are still to be read";
}

TEST_F(AnalyzerTest, CountsLossesSinceItsFirstEvent) {
    Facts later = facts();
    later.before.sent = 100;
    later.before.by_cause = {{"ring_full", 10}};
    Analyzer analyzer(later, {});
    EXPECT_EQ(analyzer.losses().lost(), 0U);
    struct : TraceObserver {
        void on_loss(std::uint64_t t_ns, const core::Losses & /*losses*/) override { reported = t_ns; }
        std::uint64_t reported = 0;
    } observer;
    analyzer = Analyzer(later, {.threads = {}, .for_screen = false, .observer = &observer});
    analyzer.apply(losses(ms(10), 120, 10));
    EXPECT_EQ(analyzer.losses().sent, 20U);
    EXPECT_EQ(observer.reported, 0U);
    analyzer.apply(losses(ms(20), 130, 12));
    EXPECT_EQ(analyzer.losses().lost(), 2U);
    EXPECT_EQ(observer.reported, ms(20)) << "the observer gets the loss";
}

TEST(AnalyzerStop, IsHeededWithinAnEvent) {
    AnalyzerOptions options;
    options.stop = [](std::uint64_t /*work*/) { return true; };
    TickAnalyzer analyzer(facts(), options);
    analyzer.apply(attach(ms(1)));
    constexpr std::int64_t kMany = 5000;
    for (std::int64_t i = 1; i <= kMany; ++i)
        analyzer.apply(update(ms(2) + static_cast<std::uint64_t>(i), 1000 + i));
    analyzer.apply(until(ms(40)));
    analyzer.apply(reading(ms(50), 1000 + kMany));
    EXPECT_TRUE(analyzer.apply(tick_end(ms(60))).empty()) << "it would compare the reading with less than all records";
    EXPECT_TRUE(analyzer.interrupted());
    analyzer.apply(event::Stop{{ms(70), 0}});
    analyzer.apply(event::End{{ms(70), 0}, {}});
    EXPECT_LE(analyzer.summary()->updates, 1024U);
}

TEST(AnalyzerSettlement, GoesOnWhileManyRecordsAreApplied) {
    struct : TraceObserver {
        void on_applied(const rsslag_update & /*update*/, const core::Applied &update) override {
            ++applied;
            if (update.ticket != 0) open = update.ticket;
        }
        void on_settled(std::span<const core::SettledUpdate> amounts) override {
            for (const core::SettledUpdate &amount : amounts)
                if (amount.ticket == open) settled_after = applied;
        }
        std::uint64_t open = 0, applied = 0, settled_after = 0;
    } observer;
    Analyzer analyzer(facts(core::Scheme::Cpu), {.threads = {}, .for_screen = false, .observer = &observer});
    analyzer.apply(attach(ms(1), 1000, core::Scheme::Cpu));
    analyzer.apply(until(ms(5)));
    event::Records records = update(ms(10), 1032);  // folded, by what is not known
    constexpr std::uint64_t kOthers = 10'000;
    for (std::uint64_t i = 1; i <= kOthers; ++i) {
        event::Records other = update(ms(10 + i), 1);
        reinterpret_cast<rsslag_update *>(other.bytes.data())->mm = kMm + 0x1000;
        records.bytes.insert(records.bytes.end(), other.bytes.begin(), other.bytes.end());
    }
    analyzer.apply(std::move(records));
    analyzer.apply(until(ms(20'000)));
    EXPECT_EQ(observer.applied, 1 + kOthers);
    EXPECT_NE(observer.open, 0U) << "the amount is open at first";
    EXPECT_GT(observer.settled_after, 0U);
    EXPECT_LT(observer.settled_after, kOthers / 2);
}

/// A reading of a child of kPid, which the parent's number is part of or not.
event::Reading reading_of_child(std::uint64_t t_ns, int child, std::uint64_t mm, int ppid) {
    event::Reading taken = reading(t_ns, 300);
    core::RawReading &raw = *taken.reported;
    taken.host_tgid = raw.pid = child;
    raw.ppid = ppid;
    core::CounterReading counters = raw.counters();
    counters.mm = mm;
    counters.tasks = {core::test::task(child, {})};
    counters.tasks[0].tgid = counters.tasks[0].host_tgid = child;
    raw.bracket.readings = {counters};
    return taken;
}

TEST(AnalyzerForScreen, KnowsTheParentFromTheForkIfTheReadingDoesNot) {
    constexpr int kChild = kPid + 10;
    constexpr std::uint64_t kChildsMm = kMm + 0x1000;
    for (const int recorded : {0, 99}) {
        for (const bool for_screen : {false, true}) {
            TickAnalyzer analyzer(facts(), {.threads = {}, .for_screen = for_screen});
            analyzer.apply(attach(ms(1)));
            rsslag_task fork{};
            fork.kind = RSSLAG_NEWTASK;
            fork.flags = RSSLAG_TRACED;
            fork.tid = fork.ns_tid = fork.tgid = fork.ns_tgid = kChild;
            fork.parent = kPid + 1;  // its second thread
            fork.t_ns = kStart + ms(5);
            fork.mm = kChildsMm;
            event::Records records;
            append(records, fork);
            analyzer.apply(std::move(records));
            analyzer.apply(until(ms(40)));
            analyzer.apply(reading_of_child(ms(50), kChild, kChildsMm, recorded));
            const auto ticks = analyzer.apply(tick_end(ms(60)));
            ASSERT_EQ(ticks.size(), 1U);
            EXPECT_EQ(ticks[0].process.pid, kChild);
            EXPECT_EQ(ticks[0].process.ppid, recorded != 0 ? recorded : for_screen ? kPid : 0);
            EXPECT_EQ(ticks[0].all.has_value(), for_screen);
            // The parent's 1,000 pages and those of the child.
            EXPECT_EQ(ticks[0].all_processes, for_screen ? 2U : 0U);
            if (!for_screen) continue;
            EXPECT_EQ(ticks[0].all->most.to, Pages{1'000} + ticks[0].extremes.most.to);
        }
    }
}

TEST(AnalyzerForScreen, KeepsTheCommandLineBetweenWalks) {
    TickAnalyzer analyzer(facts(), {.threads = {}, .for_screen = true});
    analyzer.apply(attach(ms(1)));
    std::vector<std::string> lines;
    for (const char *read : {"worker -a", "", "worker -b", ""}) {
        const std::uint64_t now = ms(50) * (lines.size() + 1);
        analyzer.apply(until(now - ms(10)));
        event::Reading taken = reading(now, 1000);
        taken.reported->command_line = read;
        analyzer.apply(std::move(taken));
        const auto ticks = analyzer.apply(tick_end(now + ms(1)));
        ASSERT_EQ(ticks.size(), 1U);
        lines.push_back(ticks[0].process.command_line);
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"worker -a", "worker -a", "worker -b", "worker -b"}));
}

}  // namespace
}  // namespace rsslag::analysis::analyzer_test
