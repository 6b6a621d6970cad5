// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/recent_growth.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "analysis/analyzer.h"
#include "events.h"

namespace rsslag::analysis {
namespace {

constexpr std::uint64_t kHeapAt = 0x10000, kLibraryAt = 0x7f0000000000;

class Recently : public testing::Test {
  protected:
    Recently() {
        rsslag_task exec{};
        exec.kind = RSSLAG_EXEC;
        exec.tid = exec.ns_tid = exec.tgid = exec.ns_tgid = test::kPid;
        exec.t_ns = at(0);
        exec.mm = test::kMm;
        recent.note(exec, 0);
        map(kHeapAt, "[heap]");
        map(kLibraryAt, "/lib/a.so");
        now.mm = test::kMm;
        now.at_start.anon = {1'000};
        now.flushed.anon = {1'000};
    }

    static std::uint64_t at(std::uint64_t seconds) { return (1'000 + seconds) * test::kSecond; }
    void map(std::uint64_t start, std::string name) {
        core::MappingChange change;
        change.pid = change.tid = test::kPid;
        change.range = {start, start + 0x10000, core::MappingRead | core::MappingWrite, std::move(name)};
        recent.note(change);
    }
    /// By a fault at this address, or by no fault; 0 pages: the number is unknown.
    void came_at(std::uint64_t t_ns, std::int64_t pages, std::optional<std::uint64_t> address, int tid = test::kPid) {
        rsslag_update record{};
        record.kind = RSSLAG_UPDATE;
        record.flags = RSSLAG_OWN;
        if (address) record.flags = RSSLAG_OWN | RSSLAG_OF_USER_FAULT;
        record.tid = tid;
        record.t_ns = t_ns;
        record.mm = test::kMm;
        record.member = 1;
        record.address = address.value_or(0);
        core::Applied applied;
        applied.known = true;
        if (pages != 0) applied.pages = core::Pages{pages};
        if (pages == 0) applied.ticket = 77;
        recent.note(record, applied, ledger);
        now.flushed.anon.n += pages;
    }
    core::RecentGrowth result(std::uint64_t t_ns) { return recent.of(now, t_ns); }
    static std::int64_t came(const core::RecentGrowth &growth, std::string_view mapping) {
        for (const auto &each : growth.mappings)
            if (each.name == mapping) return each.came.n;
        return 0;
    }
    static std::int64_t by_thread(const core::RecentGrowth &growth, int tid) {
        for (const auto &each : growth.threads)
            if (each.tid == tid) return each.came.n;
        return 0;
    }
    static std::int64_t by(const core::RecentGrowth &growth, core::NoFault why) {
        return growth.no_fault[static_cast<std::size_t>(why)].n;
    }

    core::Ledger ledger{{}};
    RecentGrowth recent;
    core::MmView now;
};

TEST_F(Recently, GrowthIsByMappingAndByThreadAndSumsUp) {
    came_at(at(1), 10, kHeapAt);
    came_at(at(1) + 1, 30, kLibraryAt + 0x1000, test::kPid + 1);
    came_at(at(1) + 2, 5, std::nullopt);
    came_at(at(1) + 3, -3, std::nullopt);
    const core::RecentGrowth growth = result(at(2));
    EXPECT_EQ(came(growth, "[heap]"), 10);
    EXPECT_EQ(came(growth, "/lib/a.so"), 30);
    EXPECT_EQ(growth.mappings.front().name, "/lib/a.so") << "the largest is first";
    EXPECT_EQ(by_thread(growth, test::kPid), 10);
    EXPECT_EQ(by_thread(growth, test::kPid + 1), 30);
    EXPECT_EQ(by(growth, core::NoFault::Populated), 5);
    EXPECT_EQ(by(growth, core::NoFault::GivenUp), -3);
    EXPECT_EQ(by(growth, core::NoFault::NotRecorded), 0);
    EXPECT_EQ(growth.grew().n, 42);
    EXPECT_TRUE(growth.any_names);
}

TEST_F(Recently, WhatIsLongerAgoIsForgotten) {
    came_at(at(1), 10, kHeapAt);
    EXPECT_EQ(result(at(2)).grew().n, 10);
    came_at(at(20), 20, kLibraryAt);
    EXPECT_EQ(result(at(29)).grew().n, 30);
    const core::RecentGrowth later = result(at(32));
    EXPECT_EQ(came(later, "[heap]"), 0);
    EXPECT_EQ(came(later, "/lib/a.so"), 20);
    EXPECT_EQ(later.grew().n, 20);
    EXPECT_EQ(later.from_ns, at(2));
    const core::RecentGrowth last = result(at(60));
    EXPECT_EQ(last.grew().n, 0);
    EXPECT_TRUE(last.mappings.empty());
    EXPECT_TRUE(last.threads.empty());
}

TEST_F(Recently, GrowthThatNoRecordReportsHasARowOfItsOwn) {
    came_at(at(1), 10, kHeapAt);
    now.flushed.anon.n += 90;
    const core::RecentGrowth growth = result(at(2));
    EXPECT_EQ(by(growth, core::NoFault::NotRecorded), 90);
    EXPECT_EQ(growth.grew().n, 100);
}

TEST_F(Recently, AnOpenAmountBelongsToNoThreadUntilItIsSettled) {
    came_at(at(1), 0, kHeapAt);
    now.flushed.anon.n += 7;
    const core::RecentGrowth open = result(at(2));
    EXPECT_EQ(came(open, "(mapping not known yet)"), 7);
    EXPECT_EQ(came(open, "[heap]"), 0);
    EXPECT_EQ(open.grew().n, 7);
    map(kHeapAt, "/lib/new.so");
    recent.note(core::SettledUpdate{77, core::Pages{7}, std::nullopt});
    const core::RecentGrowth settled = result(at(3));
    EXPECT_EQ(came(settled, "[heap]"), 7) << "the mapping of that time is used";
    EXPECT_EQ(by(settled, core::NoFault::NotRecorded), 0);
    EXPECT_EQ(settled.grew().n, 7);
}

TEST_F(Recently, AReusedAddressIsNeverReportedUnderItsOldName) {
    came_at(at(1), 10, kHeapAt);
    map(kHeapAt, "/lib/new.so");
    came_at(at(1) + 2, 3, kHeapAt);
    const core::RecentGrowth growth = result(at(2));
    EXPECT_EQ(came(growth, "[heap]"), 10);
    EXPECT_EQ(came(growth, "/lib/new.so"), 3);
}

TEST_F(Recently, NoMoreRowsAreKeptThanAScreenMayHave) {
    constexpr int kMany = 10'000;
    for (int i = 0; i < kMany; ++i)
        came_at(at(1) + static_cast<std::uint64_t>(i), 1, kHeapAt, 10'000 + i);
    const core::RecentGrowth growth = result(at(2));
    EXPECT_LE(growth.threads.size(), 100U);
    core::Pages threads = growth.other_threads;
    for (const auto &thread : growth.threads)
        threads += thread.came;
    EXPECT_EQ(threads.n, kMany);
    EXPECT_EQ(growth.grew().n, kMany);
}

TEST_F(Recently, NothingIsKeptWhereNoScreenShowsIt) {
    for (const bool for_screen : {false, true}) {
        test::TickAnalyzer analyzer(test::facts(), {.threads = {}, .for_screen = for_screen});
        analyzer.apply(test::attach(test::kSecond / 10));
        analyzer.apply(test::until(test::kSecond));
        analyzer.apply(test::reading(test::kSecond + 1'000'000, 1000));
        const auto ticks = analyzer.apply(test::tick_end(test::kSecond + 2'000'000));
        ASSERT_EQ(ticks.size(), 1U);
        EXPECT_EQ(ticks[0].recent.has_value(), for_screen);
    }
}

/// On a CPU whose cache of anon then is `cached`.
void update_on(RecentGrowth &recent, const core::Ledger &ledger, int cpu, int tid, std::int64_t pages,
               std::int32_t cached) {
    rsslag_update record{};
    record.kind = RSSLAG_UPDATE;
    record.tid = tid;
    record.t_ns = test::kSecond;
    record.mm = test::kMm;
    record.member = 1;
    record.cpu = static_cast<rsslag_u16>(cpu);
    record.cached = cached;
    core::Applied applied;
    applied.known = true;
    applied.pages = core::Pages{pages};
    recent.note(record, applied, ledger);
}

TEST(Owners, AreTheThreadsWhosePagesACpuCachesUntilItsFold) {
    RecentGrowth recent(core::Scheme::Cpu);
    const core::Ledger ledger{{}};
    core::MmView mm;
    mm.mm = test::kMm;
    const auto owners = [&] {
        std::vector<std::array<std::int64_t, 3>> found;
        for (const core::RecentGrowth::Owner &each : recent.of(mm, test::kSecond).owners)
            found.push_back({each.cpu, each.tid, each.pages.n});
        return found;
    };
    update_on(recent, ledger, 0, 11, 5, 5);
    update_on(recent, ledger, 0, 12, 20, 25);
    update_on(recent, ledger, 1, 11, -3, -3);
    EXPECT_EQ(owners(), (std::vector<std::array<std::int64_t, 3>>{{0, 12, 20}, {0, 11, 5}, {1, 11, -3}}));
    update_on(recent, ledger, 0, 11, 7, 0);
    EXPECT_EQ(owners(), (std::vector<std::array<std::int64_t, 3>>{{1, 11, -3}})) << "CPU 0 has folded";
    for (int tid = 11; tid < 20; ++tid)
        update_on(recent, ledger, 0, tid, tid, 40);
    EXPECT_EQ(owners().size(), 4U) << "three of CPU 0";

    RecentGrowth of_threads(core::Scheme::Thread);
    update_on(of_threads, ledger, 0, 11, 5, 5);
    EXPECT_TRUE(of_threads.of(mm, test::kSecond).owners.empty());
}

TEST(Course, HasWhatRecordsShowBetweenTwoTicks) {
    test::TickAnalyzer analyzer(test::facts(), {.threads = {}, .for_screen = true});
    constexpr std::uint64_t kTenth = test::kSecond / 10;
    analyzer.apply(test::attach(kTenth));
    for (const auto &[t_ns, count] :
         {std::pair{3 * kTenth, 1010}, {3 * kTenth + 1000, 5000}, {3 * kTenth + 2000, 1011}, {7 * kTenth, 1012}})
        analyzer.apply(test::update(t_ns, count));
    analyzer.apply(test::until(test::kSecond));
    analyzer.apply(test::reading(test::kSecond + 1'000'000, 1012));
    auto ticks = analyzer.apply(test::tick_end(test::kSecond + 2'000'000));
    ASSERT_EQ(ticks.size(), 1U);
    const std::vector<core::CourseSpan> &course = ticks[0].recent->course;
    ASSERT_EQ(course.size(), 2U);
    EXPECT_EQ(course[0].t_ns, 3 * kTenth);
    EXPECT_EQ(course[0].least.n, 1010);
    EXPECT_EQ(course[0].most.n, 5000);
    EXPECT_EQ(course[0].last.rss.n, 1011);
    EXPECT_EQ(course[1].t_ns, 7 * kTenth);
    EXPECT_EQ(course[1].most.n, 1012);
    analyzer.apply(test::until(2 * test::kSecond));
    analyzer.apply(test::reading(2 * test::kSecond + 1'000'000, 1012));
    ticks = analyzer.apply(test::tick_end(2 * test::kSecond + 2'000'000));
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_TRUE(ticks[0].recent->course.empty()) << "it is of the time since the last tick";
    EXPECT_TRUE(ticks[0].course_of_all.empty());
}

TEST(Course, OfAllIsTheSumAtEachRecord) {
    test::TickAnalyzer analyzer(test::facts(), {.threads = {}, .for_screen = true});
    constexpr std::uint64_t kTenth = test::kSecond / 10;
    analyzer.apply(test::attach(kTenth));
    event::Attach other = test::attach(2 * kTenth, 500);
    other.host_tgid = 5000;
    other.counters.counters.mm = test::kMm + 4096;
    other.counters.counters.tasks = {core::test::task(5000, {}, 5000)};
    other.faults.tasks.clear();
    analyzer.apply(std::move(other));
    for (const auto &[t_ns, count] : {std::pair{3 * kTenth, 1010}, {3 * kTenth + 1000, 5000}, {7 * kTenth, 1012}})
        analyzer.apply(test::update(t_ns, count));
    analyzer.apply(test::until(test::kSecond));
    analyzer.apply(test::reading(test::kSecond + 1'000'000, 1012));
    const auto ticks = analyzer.apply(test::tick_end(test::kSecond + 2'000'000));
    ASSERT_EQ(ticks.size(), 1U);
    const std::vector<core::CourseSpan> &course = ticks[0].course_of_all;
    ASSERT_EQ(course.size(), 2U);
    EXPECT_EQ(course[0].t_ns, 3 * kTenth);
    EXPECT_EQ(course[0].least.n, 1510);
    EXPECT_EQ(course[0].most.n, 5500);
    EXPECT_EQ(course[1].last.rss.n, 1512);
}

}  // namespace
}  // namespace rsslag::analysis
