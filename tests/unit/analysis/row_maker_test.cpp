// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/row_maker.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>

namespace rsslag::analysis {
namespace {

using core::Pages;
using exporters::Row;

constexpr std::uint64_t kStart = 1'000'000;
constexpr std::uint64_t kMm = 0xffff888012340000;

/// Keeps rows, and copies of the names, which do not live as long.
class Kept : public exporters::Sink {
  public:
    core::Status begin(const exporters::Facts & /*facts*/) override { return core::success(); }
    core::Status row(const Row &row) override {
        const exporters::Stamp &at =
            std::visit([](const auto &each) -> const exporters::Stamp & { return each.at; }, row);
        names.emplace_back(at.comm);
        stamps.push_back(at);
        types.emplace_back(exporters::type_name(row));
        rows.push_back(row);
        return refuse ? core::Status(core::Error{core::Kind::Io, "full", 0, ""}) : core::success();
    }
    core::Status end(const exporters::Ending & /*ending*/) override { return core::success(); }

    std::vector<Row> rows;
    std::vector<exporters::Stamp> stamps;
    std::vector<std::string> names, types;
    bool refuse = false;
};

rsslag_update update(std::uint64_t t_ns, int tid, std::uint16_t flags = RSSLAG_OWN) {
    rsslag_update update{};
    update.kind = RSSLAG_UPDATE;
    update.flags = flags;
    update.tid = tid;
    update.t_ns = kStart + t_ns;
    update.mm = kMm;
    update.count = 40;
    update.cached = 3;
    update.cpu = 2;
    update.member = static_cast<rsslag_u8>(core::Member::Anon);
    return update;
}

rsslag_task lifecycle(std::uint64_t t_ns, std::uint16_t kind, int tid, const char *comm) {
    rsslag_task task{};
    task.kind = kind;
    task.tid = tid;
    task.t_ns = kStart + t_ns;
    task.mm = kMm;
    task.tgid = 100;
    task.ns_tid = tid - 99;
    task.ns_tgid = 1;
    std::strncpy(task.comm, comm, sizeof(task.comm));
    return task;
}

core::RawReading reading(std::uint64_t end_ns) {
    core::CounterReading counters;
    counters.mm = kMm;
    counters.last.flushed.anon = {40};
    core::TaskReading task;
    task.tid = 1;
    task.tgid = 1;
    task.host_tid = 100;
    task.host_tgid = 100;
    task.comm = "reader";
    counters.tasks = {task};
    core::RawReading reading;
    reading.pid = 1;
    reading.comm = "reader";
    reading.bracket.readings = {counters};
    reading.begin_ns = kStart + end_ns - 10;
    reading.end_ns = kStart + end_ns;
    return reading;
}

core::Tick tick(std::uint64_t t_ns) {
    core::Tick tick;
    tick.t_ns = t_ns;
    tick.process.pid = 1;
    tick.process.comm = "reader";
    tick.ledger.mm = kMm;
    return tick;
}

const core::Applied kApplied{true, Pages{1}, std::nullopt};

TEST(RowMaker, HoldsNothingBackThatNoRecordCanComeBefore) {
    Kept kept;
    RowMaker maker(kept);
    maker.begin(kStart);
    maker.on_reading(reading(5));
    maker.on_tick(tick(7));
    maker.on_tick(tick(20));
    EXPECT_TRUE(kept.types.empty()) << "an earlier record may still come";
    maker.reached(kStart + 5);
    EXPECT_TRUE(kept.types.empty()) << "a record of the same time may still come";
    maker.reached(kStart + 10);
    EXPECT_EQ(kept.types, (std::vector<std::string>{"reading", "tick"}));
    maker.on_applied(update(15, 100), kApplied);
    ASSERT_TRUE(maker.finish().ok());
    EXPECT_EQ(kept.types, (std::vector<std::string>{"reading", "tick", "update", "tick"}));
}

TEST(RowMaker, NamesTasksByReadingsAndRecords) {
    Kept kept;
    RowMaker maker(kept);
    maker.begin(kStart);
    maker.on_reading(reading(5));
    maker.on_applied(update(10, 100), kApplied);
    maker.on_task({0, lifecycle(20, RSSLAG_NEWTASK, 101, "worker")});
    maker.on_applied(update(30, 101), kApplied);
    maker.on_applied(update(40, 777, RSSLAG_BY_OTHER), kApplied);
    ASSERT_TRUE(maker.finish().ok());
    EXPECT_EQ(kept.types, (std::vector<std::string>{"reading", "update", "fork", "update", "update"}));
    EXPECT_EQ(kept.names, (std::vector<std::string>{"reader", "reader", "worker", "worker", ""}));
    std::vector<int> tids;
    for (const exporters::Stamp &at : kept.stamps) {
        tids.push_back(at.tid);
        EXPECT_EQ(at.pid, 1);
        EXPECT_EQ(at.mm, 1U);
    }
    EXPECT_EQ(tids, (std::vector<int>{0, 1, 2, 2, 777}));
    EXPECT_EQ(kept.stamps[1].cpu, 2);
    EXPECT_EQ(kept.stamps[1].t_ns, 10U);
}

TEST(RowMaker, TakesWhoMadeAnUpdateFromTheLedger) {
    Kept kept;
    RowMaker maker(kept);
    maker.begin(kStart);
    core::Applied applied = kApplied;
    maker.on_applied(update(10, 777, RSSLAG_OWN | RSSLAG_BY_OTHER), applied);
    applied.by_other = true;
    maker.on_applied(update(20, 100), applied);
    ASSERT_TRUE(maker.finish().ok());
    ASSERT_EQ(kept.rows.size(), 2U);
    EXPECT_FALSE(std::get<exporters::UpdateRow>(kept.rows[0]).by_other) << "another process of the same mm";
    EXPECT_TRUE(std::get<exporters::UpdateRow>(kept.rows[1]).by_other);
}

TEST(RowMaker, GivesAMemberThatItDoesNotKnowNoName) {
    Kept kept;
    RowMaker maker(kept);
    maker.begin(kStart);
    rsslag_update newer = update(10, 100);
    newer.member = 5;  // as a kernel with more counters might report
    maker.on_applied(newer, {});
    maker.on_applied(update(20, 100), kApplied);
    ASSERT_TRUE(maker.finish().ok());
    ASSERT_EQ(kept.rows.size(), 2U);
    const auto &unknown = std::get<exporters::UpdateRow>(kept.rows[0]);
    EXPECT_EQ(unknown.member, std::nullopt);
    EXPECT_EQ(unknown.flushed, std::nullopt);
    const auto &known = std::get<exporters::UpdateRow>(kept.rows[1]);
    EXPECT_EQ(known.member, core::Member::Anon);
    EXPECT_EQ(known.flushed, Pages{40});
}

TEST(RowMaker, MakesAllRowsInTheOrderOfTime) {
    Kept kept;
    RowMaker maker(kept);
    maker.begin(kStart);
    core::Losses losses;
    losses.by_cause = {{"ring_full", 3}, {"recursion", 0}};
    maker.on_reading(reading(50));
    maker.on_loss(kStart + 60, losses);
    for (const std::uint64_t t_ns : {10, 40, 55})
        maker.on_applied(update(t_ns, 100), kApplied);
    maker.on_tick(tick(80));
    maker.on_applied(update(70, 100), kApplied);
    maker.on_applied(update(90, 100), kApplied);
    losses.by_cause["ring_full"] = 5;
    maker.on_loss(kStart + 95, losses);
    ASSERT_TRUE(maker.finish().ok());
    EXPECT_EQ(kept.types, (std::vector<std::string>{"update", "update", "reading", "update", "loss", "update", "tick",
                                                    "update", "loss"}));
    EXPECT_EQ(std::get<exporters::LossRow>(kept.rows[4]).records, 3U);
    EXPECT_EQ(std::get<exporters::LossRow>(kept.rows[8]).records, 2U);
}

TEST(RowMaker, GivesANewMmAtAnOldAddressANewNumber) {
    Kept kept;
    RowMaker maker(kept);
    maker.begin(kStart);
    maker.on_reading(reading(5));
    maker.on_applied(update(10, 100), kApplied);
    maker.on_applied(update(20, 100, RSSLAG_TEARDOWN), kApplied);
    maker.on_applied(update(30, 100, RSSLAG_TEARDOWN), kApplied);
    maker.on_applied(update(40, 200, RSSLAG_NEWBORN), kApplied);
    maker.on_task({0, lifecycle(50, RSSLAG_EXEC, 200, "later")});
    maker.on_applied(update(60, 200), kApplied);
    ASSERT_TRUE(maker.finish().ok());
    std::vector<std::uint64_t> ids;
    for (const exporters::Stamp &at : kept.stamps)
        ids.push_back(at.mm);
    EXPECT_EQ(ids, (std::vector<std::uint64_t>{1, 1, 1, 1, 2, 2, 2}));
    EXPECT_EQ(kept.stamps[4].pid, 0) << "the new mm has no process yet";
    EXPECT_EQ(kept.stamps[6].pid, 1);
}

TEST(RowMaker, GivesAnMmWhoseRecordsWereLostANumberOfItsOwn) {
    Kept kept;
    RowMaker maker(kept);
    maker.begin(kStart);
    std::uint64_t t_ns = 0;
    // The mms were at one address, one after the other. The last tick of the second one comes late.
    for (const std::uint64_t generation : {1U, 3U, 2U, 3U}) {
        core::Tick of_mm = tick(++t_ns);
        of_mm.ledger.generation = generation;
        maker.on_tick(std::move(of_mm));
    }
    ASSERT_TRUE(maker.finish().ok());
    std::vector<std::uint64_t> ids;
    for (const exporters::Stamp &at : kept.stamps)
        ids.push_back(at.mm);
    EXPECT_EQ(ids, (std::vector<std::uint64_t>{1, 2, 3, 2}));
}

TEST(RowMaker, SaysWhatAnUpdateCameTo) {
    Kept kept;
    RowMaker maker(kept);
    maker.begin(kStart);
    rsslag_update faulted = update(1, 100, RSSLAG_OWN | RSSLAG_OF_KERNEL_FAULT);
    faulted.address = 0x7000;
    maker.on_applied(faulted, kApplied);
    maker.on_applied(update(2, 100), {true, Pages{0}, core::FlushReason::Threshold});
    maker.on_applied(update(3, 100), {true, std::nullopt, core::FlushReason::Fold});
    maker.on_applied(update(4, 100), {true, Pages{-1}, core::FlushReason::Direct});
    maker.on_applied(update(5, 100), {false, std::nullopt, std::nullopt});
    ASSERT_TRUE(maker.finish().ok());
    EXPECT_EQ(kept.types, (std::vector<std::string>{"update", "flush", "fold", "update", "update"}));
    const auto row = [&](std::size_t i) { return std::get<exporters::UpdateRow>(kept.rows[i]); };
    ASSERT_TRUE(row(0).fault);
    EXPECT_TRUE(row(0).fault->kernel);
    EXPECT_EQ(row(0).fault->address, 0x7000U);
    EXPECT_EQ(row(0).cached, Pages{3});
    EXPECT_EQ(row(1).cached, Pages{0}) << "the flush empties the cache";
    EXPECT_EQ(row(2).pages, std::nullopt);
    EXPECT_EQ(row(3).reason, core::FlushReason::Direct);
    EXPECT_FALSE(row(4).known);
    EXPECT_EQ(row(4).cached, std::nullopt);
}

TEST(RowMaker, FindsTheSamplesOfUpdatesAndOfFaultRecords) {
    Kept kept;
    RowMaker maker(kept);
    maker.begin(kStart);
    event::Samples samples;
    samples.first = 7;
    for (const core::Member member : {core::Member::File, core::Member::Anon}) {
        core::Sample &sample = samples.samples.emplace_back();
        sample.t_ns = kStart + 10;
        sample.host_tid = 100;
        sample.cpu = 2;
        sample.member = static_cast<std::uint8_t>(member);
    }
    core::Sample of_update = samples.samples.back();
    of_update.t_ns = kStart + 20;
    samples.samples.push_back(of_update);
    maker.on_samples(samples);
    rsslag_fault fault{};
    fault.kind = RSSLAG_FAULT;
    fault.tid = 100;
    fault.t_ns = kStart + 10;
    fault.mm = kMm;
    fault.cpu = 2;
    maker.on_fault(fault, {}, std::nullopt);
    maker.on_applied(update(20, 100), {});
    maker.on_applied(update(30, 100), {});
    ASSERT_TRUE(maker.finish());
    ASSERT_EQ(kept.rows.size(), 3U);
    const std::array<std::int64_t, core::kMembers> expected{7, 8, -1, -1};
    EXPECT_EQ(std::get<exporters::FaultRow>(kept.rows[0]).samples, expected);
    EXPECT_EQ(std::get<exporters::UpdateRow>(kept.rows[1]).sample, 9);
    EXPECT_EQ(std::get<exporters::UpdateRow>(kept.rows[2]).sample, -1);
}

TEST(RowMaker, FindsTheSampleOfALateRecord) {
    for (const auto &[reached_ns, expected] : {std::pair{500'000'000, 0}, std::pair{2'000'000'000, -1}}) {
        Kept kept;
        RowMaker maker(kept);
        maker.begin(kStart);
        event::Samples samples;
        core::Sample &sample = samples.samples.emplace_back();
        sample.t_ns = kStart + 10;
        sample.host_tid = 100;
        sample.cpu = 2;
        sample.member = static_cast<std::uint8_t>(core::Member::Anon);
        maker.on_samples(samples);
        maker.reached(kStart + static_cast<std::uint64_t>(reached_ns));
        maker.on_applied(update(10, 100), {});
        ASSERT_TRUE(maker.finish());
        ASSERT_EQ(kept.rows.size(), 1U);
        EXPECT_EQ(std::get<exporters::UpdateRow>(kept.rows[0]).sample, expected);
    }
}

TEST(RowMaker, LeavesOutSumsThatGoOn) {
    Kept kept;
    RowMaker maker(kept);
    maker.begin(kStart);
    rsslag_sum sum{};
    sum.t_ns = kStart + 5;
    sum.mm = kMm;
    sum.tid = 100;
    sum.updates = 9;
    sum.members = 1U << static_cast<unsigned>(core::Member::Shmem);
    sum.cached[static_cast<int>(core::Member::Shmem)] = -4;
    sum.flags = RSSLAG_PARTIAL;
    maker.on_sum(sum, {});
    sum.flags = 0;
    maker.on_sum(sum, {});
    ASSERT_TRUE(maker.finish().ok());
    ASSERT_EQ(kept.rows.size(), 1U);
    const auto &row = std::get<exporters::SumRow>(kept.rows[0]);
    EXPECT_EQ(row.updates, 9U);
    EXPECT_EQ(row.cached[static_cast<int>(core::Member::Shmem)], Pages{-4});
    EXPECT_EQ(row.cached[static_cast<int>(core::Member::Anon)], std::nullopt);
}

rsslag_update on_cpu(std::uint64_t t_ns, std::uint16_t cpu, std::int64_t count, std::int32_t cached,
                     std::uint16_t flags = RSSLAG_OWN) {
    rsslag_update one = update(t_ns, 100, flags);
    one.cpu = cpu;
    one.count = count;
    one.cached = cached;
    return one;
}

TEST(RowMaker, HasTheAmountOfAFoldOnceItIsKnown) {
    Kept kept;
    RowMaker maker(kept);
    maker.begin(kStart);
    maker.on_applied(on_cpu(10'000, 0, 0, 31, RSSLAG_NEWBORN), {true, Pages{31}, std::nullopt});
    maker.on_applied(on_cpu(20'000, 0, 33, 0), {true, std::nullopt, std::nullopt, 7});
    maker.on_applied(on_cpu(30'000, 0, 33, 5), {true, Pages{5}, std::nullopt});
    EXPECT_EQ(kept.rows.size(), 1U) << "the other CPU may have folded at the same time";
    maker.on_applied(on_cpu(3'000'000, 1, 33, 1), {true, Pages{1}, std::nullopt});
    maker.on_settled(std::vector<core::SettledUpdate>{{7, Pages{2}, core::FlushReason::Fold}});
    EXPECT_EQ(kept.rows.size(), 4U);
    maker.on_applied(on_cpu(4'000'000, 0, 33, 0), {true, std::nullopt, std::nullopt, 8});
    maker.on_settled(std::vector<core::SettledUpdate>{{8, Pages{-5}, std::nullopt}});  // 5 pages came and went
    ASSERT_TRUE(maker.finish().ok());
    EXPECT_EQ(kept.types, (std::vector<std::string>{"update", "fold", "update", "update", "update"}));
    std::int64_t sum = 0;
    for (const Row &row : kept.rows)
        sum += std::get<exporters::UpdateRow>(row).pages.value().n;
    EXPECT_EQ(std::get<exporters::UpdateRow>(kept.rows[1]).pages, Pages{2});
    EXPECT_EQ(std::get<exporters::UpdateRow>(kept.rows[4]).pages, Pages{-5});
    EXPECT_EQ(sum, 33 + 1) << "flushed plus what CPU 1 caches";
}

TEST(RowMaker, LeavesAmountsOpenThatAreNeverSettled) {
    Kept kept;
    RowMaker maker(kept);
    maker.begin(kStart);
    maker.on_applied(on_cpu(10'000, 0, 0, 31, RSSLAG_NEWBORN), {true, Pages{31}, std::nullopt});
    maker.on_applied(on_cpu(20'000, 0, 33, 0), {true, std::nullopt, std::nullopt, 7});
    maker.on_applied(on_cpu(30'000, 0, 33, 2), {true, Pages{2}, std::nullopt});
    maker.on_settled(std::vector<core::SettledUpdate>{{6, Pages{2}, core::FlushReason::Fold}});
    EXPECT_EQ(kept.rows.size(), 1U);
    ASSERT_TRUE(maker.finish().ok());
    EXPECT_EQ(kept.types, (std::vector<std::string>{"update", "update", "update"}));
    EXPECT_EQ(std::get<exporters::UpdateRow>(kept.rows[1]).pages, std::nullopt);
}

/// Counts the rows of listings and the ticks whose ledger has the mm of tick().
class Counts : public exporters::Sink {
  public:
    core::Status begin(const exporters::Facts & /*facts*/) override { return core::success(); }
    core::Status row(const Row &row) override {
        if (const auto *const mapping = std::get_if<exporters::MappingRow>(&row)) listed += mapping->held ? 1 : 0;
        const auto *const tick = std::get_if<exporters::TickRow>(&row);
        if (tick != nullptr && tick->ledger != nullptr) ticks += tick->ledger->mm == kMm ? 1 : 0;
        return core::success();
    }
    core::Status end(const exporters::Ending & /*ending*/) override { return core::success(); }

    std::size_t listed = 0, ticks = 0;
};

std::size_t allocated() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/// After losses the rows of many processes may wait.
TEST(RowMaker, KeepsRowsThatWaitInLittleMemory) {
    constexpr std::size_t kRows = 10'000;
    core::MappingListing listing;
    listing.t_ns = kStart + 30'000;
    listing.pid = 1;
    for (std::uint64_t i = 1; i <= kRows; ++i)
        listing.entries.push_back({{i << 20, (i << 20) + 4096, 0, "/usr/lib/library.so"}, core::Kilobytes{4}});
    Counts counts;
    RowMaker maker(counts);
    maker.begin(kStart);
    maker.on_applied(on_cpu(20'000, 0, 33, 0), {true, std::nullopt, std::nullopt, 7});
    maker.on_tick(tick(25'000));
    maker.on_listing(listing);
    EXPECT_EQ(counts.listed, 0U) << "the update has no amount yet";
    const std::size_t before = allocated();
    ASSERT_TRUE(maker.finish().ok());
    const std::size_t after = allocated();
    EXPECT_EQ(counts.listed, kRows);
    EXPECT_EQ(counts.ticks, 1U);
    if (before == 0) GTEST_SKIP() << "this allocator does not count bytes";
    EXPECT_LT((before - after) / kRows, 100U) << "bytes a row";
}

TEST(RowMaker, StopsAtTheFirstError) {
    Kept kept;
    kept.refuse = true;
    RowMaker maker(kept);
    maker.begin(kStart);
    maker.on_applied(update(1, 100), kApplied);
    maker.on_applied(update(2, 100), kApplied);
    EXPECT_TRUE(maker.failed());
    EXPECT_FALSE(maker.finish().ok());
    EXPECT_EQ(kept.rows.size(), 1U);
}

}  // namespace
}  // namespace rsslag::analysis
