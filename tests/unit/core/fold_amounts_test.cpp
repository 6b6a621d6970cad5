// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/core/update_amounts.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

namespace rsslag::core {
namespace {

constexpr std::int64_t kBatch = 32;
constexpr int kCpus = 4;
constexpr std::uint64_t kMm = 7;

/// A counter as lib/percpu_counter.c keeps it, and what a record says after each update.
struct Counter {
    std::int64_t count = 0;
    std::array<std::int64_t, kCpus> locals{};

    rsslag_update add(std::uint64_t t_ns, int cpu, std::int64_t pages) {
        std::int64_t &local = locals[static_cast<std::size_t>(cpu)];
        local += pages;
        if (std::abs(local) >= kBatch) count += std::exchange(local, 0);
        rsslag_update update{};
        update.t_ns = t_ns;
        update.cpu = static_cast<rsslag_u16>(cpu);
        update.tid = 100 + cpu;
        update.count = count;
        update.cached = static_cast<rsslag_s32>(local);
        update.member = static_cast<rsslag_u8>(Member::Anon);
        return update;
    }
};

using Told = std::map<std::uint64_t, std::optional<Pages>>;

void take(std::vector<UpdateAmounts::Settled> &settled, Told &told) {
    for (const UpdateAmounts::Settled &each : settled)
        EXPECT_TRUE(told.emplace(each.ticket, each.pages).second) << "told twice";
    settled.clear();
}

TEST(FoldAmounts, AreWhatTheUpdatesBroughtWhenCpusFoldApart) {
    std::mt19937 dice(20260101);
    const auto amounts = fold_amounts(kCpus, kBatch);
    Counter counter;
    Told told;
    std::map<std::uint64_t, std::int64_t> truth;
    std::vector<UpdateAmounts::Settled> settled;
    amounts->born(kMm);
    std::uint64_t t_ns = 1'000'000;
    for (int i = 0; i < 20'000; ++i) {
        t_ns += 5'000'000;
        const auto pages = static_cast<std::int64_t>(dice() % 40) - 12;
        const rsslag_update update = counter.add(t_ns, static_cast<int>(dice() % kCpus), pages);
        if (const auto ticket = amounts->apply(kMm, update, Applied{}, settled)) truth[*ticket] = pages;
        take(settled, told);
    }
    amounts->advance(UINT64_MAX, settled);
    take(settled, told);
    EXPECT_FALSE(amounts->open());
    EXPECT_GT(truth.size(), 1'000U);
    ASSERT_EQ(told.size(), truth.size());
    for (const auto &[ticket, pages] : truth) {
        ASSERT_TRUE(told[ticket]) << ticket;
        EXPECT_EQ(told[ticket]->n, pages) << ticket;
    }
}

TEST(FoldAmounts, BeginWithAReading) {
    const auto amounts = fold_amounts(kCpus, kBatch);
    std::vector<UpdateAmounts::Settled> settled;
    CounterReading reading;
    reading.last.flushed.anon = {100};
    reading.last.cpus = {{2, {.file = {0}, .anon = {30}, .swap = {0}, .shmem = {0}}}};
    amounts->read(kMm, reading, 1'000);
    Counter counter;
    counter.count = 100;
    counter.locals[2] = 30;
    const auto ticket = amounts->apply(kMm, counter.add(2'000, 2, 5), Applied{}, settled);
    ASSERT_TRUE(ticket);
    amounts->advance(10'000'000, settled);
    ASSERT_EQ(settled.size(), 1U);
    EXPECT_EQ(settled[0].pages, Pages{5});
    EXPECT_EQ(settled[0].reason, FlushReason::Fold);
}

TEST(FoldAmounts, AreNotToldOfWhatNobodyKnows) {
    const auto amounts = fold_amounts(kCpus, kBatch);
    std::vector<UpdateAmounts::Settled> settled;
    Counter counter;
    counter.locals[1] = 31;
    EXPECT_FALSE(amounts->apply(kMm, counter.add(1'000, 1, 1), Applied{}, settled))
        << "what was cached before is not known";
    counter.locals[1] = 31;
    EXPECT_TRUE(amounts->apply(kMm, counter.add(2'000, 1, 1), Applied{}, settled));
    amounts->forget(settled);
    ASSERT_EQ(settled.size(), 1U);
    EXPECT_EQ(settled[0].pages, std::nullopt);
    EXPECT_FALSE(amounts->open());
}

TEST(FoldAmounts, OfAnMmThatIsGoneAreGivenUp) {
    const auto amounts = fold_amounts(kCpus, kBatch);
    std::vector<UpdateAmounts::Settled> settled;
    Counter gone;
    Counter stays;
    amounts->born(kMm);
    amounts->born(kMm + 1);
    const auto of_gone = amounts->apply(kMm, gone.add(1'000, 1, 40), Applied{}, settled);
    const auto of_stays = amounts->apply(kMm + 1, stays.add(2'000, 2, 50), Applied{}, settled);
    ASSERT_TRUE(of_gone && of_stays);
    amounts->drop(kMm, settled);
    ASSERT_EQ(settled.size(), 1U);
    EXPECT_EQ(settled[0].ticket, *of_gone);
    EXPECT_EQ(settled[0].pages, std::nullopt);
    EXPECT_TRUE(amounts->open());
    settled.clear();
    amounts->advance(UINT64_MAX, settled);
    ASSERT_EQ(settled.size(), 1U);
    EXPECT_EQ(settled[0].ticket, *of_stays);
    EXPECT_EQ(settled[0].pages, Pages{50});
    EXPECT_FALSE(amounts->open());
}

}  // namespace
}  // namespace rsslag::core
