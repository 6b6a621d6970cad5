// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/core/update_amounts.h"

#include <gtest/gtest.h>

#include <map>

namespace rsslag::core {
namespace {

constexpr std::uint64_t kMm = 7;
constexpr std::uint64_t kLater = 1'000'000;

rsslag_update update(std::uint64_t t_ns, int cpu, std::int64_t count, std::int32_t cached) {
    rsslag_update update{};
    update.t_ns = t_ns;
    update.cpu = static_cast<rsslag_u16>(cpu);
    update.tid = 100 + cpu;
    update.mm = kMm;
    update.count = count;
    update.cached = cached;
    update.flags = cached == 0 ? 0 : RSSLAG_OWN | RSSLAG_THRESHOLD;
    update.member = static_cast<rsslag_u8>(Member::Anon);
    return update;
}

class Flushes : public testing::Test {
  protected:
    std::optional<std::uint64_t> apply(const rsslag_update &each) {
        Applied applied{true, std::nullopt, std::nullopt};
        if (each.cached == 0) applied.reason = FlushReason::Direct;
        return amounts->apply(kMm, each, applied, settled);
    }
    std::map<std::uint64_t, UpdateAmounts::Settled> told() {
        std::map<std::uint64_t, UpdateAmounts::Settled> by_ticket;
        for (const UpdateAmounts::Settled &each : settled)
            EXPECT_TRUE(by_ticket.emplace(each.ticket, each).second) << "told twice";
        return by_ticket;
    }

    const std::unique_ptr<UpdateAmounts> amounts = flush_amounts();
    std::vector<UpdateAmounts::Settled> settled;
};

TEST_F(Flushes, AreWhatTheCounterMovedBy) {
    amounts->born(kMm);
    const auto direct = apply(update(1'000, 0, 5, 0));
    const auto flush = apply(update(kLater, 1, 69, 64));
    const auto less = apply(update(2 * kLater, 0, 60, 0));
    EXPECT_TRUE(amounts->open());
    amounts->advance(3 * kLater, settled);
    EXPECT_FALSE(amounts->open());
    auto all = told();
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[*direct].pages, Pages{5});
    EXPECT_EQ(all[*direct].reason, FlushReason::Direct);
    EXPECT_EQ(all[*flush].pages, Pages{64});
    EXPECT_EQ(all[*flush].reason, FlushReason::Threshold);
    EXPECT_EQ(all[*less].pages, Pages{-9});
}

TEST_F(Flushes, OfTwoCpusAddUpWhenTheirRecordsAreOutOfOrder) {
    amounts->born(kMm);
    const auto second = apply(update(1'000, 0, 128, 64));
    const auto first = apply(update(2'000, 1, 64, 64));
    amounts->advance(kLater, settled);
    auto all = told();
    EXPECT_EQ(all[*first].pages, Pages{64});
    EXPECT_EQ(all[*second].pages, Pages{64});
}

TEST_F(Flushes, CannotBeToldWhereNothingWasKnownBefore) {
    EXPECT_FALSE(apply(update(1'000, 0, 500, 0)).has_value());
    const auto next = apply(update(2'000, 0, 503, 0));
    amounts->drop(kMm, settled);
    EXPECT_EQ(told()[*next].pages, Pages{3});
}

TEST_F(Flushes, BeginWithAReadingThatNoRecordIsLaterThan) {
    CounterReading reading;
    reading.last.flushed.anon = Pages{200};
    amounts->read(kMm, reading, 1'000);
    const auto ticket = apply(update(2'000, 0, 264, 64));
    amounts->forget(settled);
    EXPECT_EQ(told()[*ticket].pages, Pages{64});
    settled.clear();
    EXPECT_FALSE(apply(update(3'000, 0, 300, 0)).has_value()) << "what was known is not, after a loss";
}

}  // namespace
}  // namespace rsslag::core
