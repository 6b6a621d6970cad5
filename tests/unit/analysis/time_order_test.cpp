// SPDX-License-Identifier: BSD-2-Clause
// The records of several rings, in the order of time.
#include "analysis/time_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/scheme.h"
#include "core/units.h"

namespace rsslag::analysis {
namespace {

rsslag_sum sum_at(std::uint64_t t_ns, int tid, int cpu, std::uint16_t flags = 0) {
    rsslag_sum record{};
    record.kind = RSSLAG_SUM;
    record.flags = flags;
    record.tid = tid;
    record.t_ns = t_ns;
    record.updates = record.number = 1;
    record.cpu = record.of = static_cast<rsslag_u16>(cpu);
    return record;
}

TEST(TimeOrder, HandsSumsOnInOrderAndCountsThoseThatWereSent) {
    TimeOrder order;
    const auto add = [&order](const rsslag_sum &record) { order.add(std::as_bytes(std::span(&record, 1))); };
    add(sum_at(300, 4711, 0));
    add(sum_at(100, 4712, 1));
    add(sum_at(200, 4713, 2, RSSLAG_PARTIAL));
    std::vector<int> tids;
    struct Use {
        std::vector<int> *tids;
        void operator()(const rsslag_sum &each) const { tids->push_back(each.tid); }
        void operator()(const rsslag_update & /*none*/) const { ADD_FAILURE(); }
        void operator()(const rsslag_fault & /*none*/) const { ADD_FAILURE(); }
        void operator()(const rsslag_task & /*none*/) const { ADD_FAILURE(); }
    };
    order.until(1'000, Use{&tids});
    EXPECT_EQ(tids, (std::vector<int>{4712, 4713, 4711}));
    EXPECT_EQ(order.records(), 2U);
    EXPECT_EQ(order.malformed(), 0U);
}

TEST(TimeOrder, CountsACountThatCannotBeAsMalformedAndReadsOn) {
    TimeOrder order;
    std::vector<std::byte> bytes;
    for (const std::int64_t count :
         {std::int64_t{5}, INT64_MAX, INT64_MIN, core::kMostPagesOfMm, -core::kMostPagesOfMm + 1}) {
        rsslag_update update{};
        update.kind = RSSLAG_UPDATE;
        update.count = count;
        const auto more = std::as_bytes(std::span(&update, 1));
        bytes.insert(bytes.end(), more.begin(), more.end());
    }
    order.add(bytes);
    EXPECT_EQ(order.malformed(), 3U);
    EXPECT_EQ(order.records(), 2U);
}

TEST(TimeOrder, CountsARecordOfAnUnknownCounterAsMalformedAndReadsOn) {
    TimeOrder order;
    rsslag_update update{};
    update.kind = RSSLAG_UPDATE;
    for (const unsigned member : {3U, 4U, 255U}) {
        update.member = static_cast<rsslag_u8>(member);
        order.add(std::as_bytes(std::span(&update, 1)));
    }
    EXPECT_EQ(order.malformed(), 2U);
    rsslag_sum of_all = sum_at(100, 4711, 0);
    for (const unsigned members : {0xfU, 0x1fU}) {
        of_all.members = static_cast<rsslag_u8>(members);
        order.add(std::as_bytes(std::span(&of_all, 1)));
    }
    EXPECT_EQ(order.malformed(), 3U);
    EXPECT_EQ(order.records(), 2U);
}

TEST(TimeOrder, TakesRecordsOfManyCpusInTurns) {
    constexpr std::uint16_t kCpus = 300;
    TimeOrder order;
    for (std::uint16_t cpu = 0; cpu <= kCpus; ++cpu) {
        rsslag_update update{};
        update.kind = RSSLAG_UPDATE;
        update.cpu = cpu == kCpus ? std::uint16_t{core::kMostCpus} : cpu;
        for (int i = 0; i < 5; ++i) {
            update.t_ns = static_cast<std::uint64_t>(i) * 100 + cpu * 7 % 100;
            order.add(std::as_bytes(std::span(&update, 1)));
        }
    }
    EXPECT_EQ(order.malformed(), 5U) << "no machine has a CPU with this number";
    EXPECT_EQ(order.waiting_bytes(), 5U * kCpus * sizeof(rsslag_update));
    std::vector<std::pair<std::uint64_t, std::size_t>> seen;
    for (const std::uint64_t until : {250, 251, 1000})
        order.until(until, [&seen](const auto &record) { seen.emplace_back(record.t_ns, record.cpu); });
    EXPECT_EQ(seen.size(), 5U * kCpus);
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end())) << "if times are equal, the lower CPU comes first";
    EXPECT_EQ(order.waiting_bytes(), 0U);
}

TEST(TimeOrder, CountsWhatItCannotReadOn) {
    TimeOrder order;
    const rsslag_sum first = sum_at(100, 4711, 0);
    rsslag_sum unknown = sum_at(200, 4711, 0);
    unknown.kind = 999;
    std::vector<std::byte> bytes;
    for (const rsslag_sum &each : {first, unknown, first}) {
        const auto more = std::as_bytes(std::span(&each, 1));
        bytes.insert(bytes.end(), more.begin(), more.end());
    }
    order.add(bytes);
    EXPECT_EQ(order.records(), 1U);
    EXPECT_EQ(order.malformed(), 1U);
    order.add(std::span(bytes).first(wire::record_bytes(RSSLAG_SUM) - 1));
    EXPECT_EQ(order.malformed(), 2U);
    EXPECT_EQ(wire::record_bytes(999), 0U);
}

}  // namespace
}  // namespace rsslag::analysis
