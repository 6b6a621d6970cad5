// SPDX-License-Identifier: BSD-2-Clause
// The profile of stacks for the screen, and the two observers of a trace.
#include "session/live_stacks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "analysis/tee.h"

namespace rsslag::session {
namespace {

constexpr std::uint64_t kStart = 5'000'000'000;
constexpr std::uint64_t kMm = 0xffff888100000000;

/// A page comes to thread 11 of process 10, with or without a sample.
void page_comes(analysis::TraceObserver &to, std::uint64_t t_ns, std::optional<std::uint64_t> sample) {
    if (sample) {
        core::event::Samples samples{*sample, {}};
        core::Sample &one = samples.samples.emplace_back();
        one.t_ns = t_ns;
        one.mm = kMm;
        one.host_tid = 11;
        one.pid = 10;
        one.member = static_cast<int>(core::Member::Anon);
        one.estimated = 1;
        to.on_samples(samples);
    }
    rsslag_update update{};
    update.t_ns = t_ns;
    update.mm = kMm;
    update.tid = 11;
    update.member = static_cast<std::uint8_t>(core::Member::Anon);
    core::Applied applied;
    applied.known = true;
    applied.pages = core::Pages{1};
    to.on_applied(update, applied);
}

void stack_comes(analysis::TraceObserver &to, std::uint64_t sample) {
    core::event::Stacks stacks;
    stacks.first = sample;
    stacks.frames = {{"touch", "/bin/x", {}, 1}};
    stacks.stacks = {{{0}, core::StackEnd::Outermost}};
    stacks.of = {0};
    to.on_stacks(stacks);
}

void adopt(analysis::TraceObserver &to) {
    core::GroupView group;
    group.host_tgid = group.tgid = 10;
    group.mm = kMm;
    to.on_adopted(group);
}

core::Tick tick_at(std::uint64_t t_ns, std::uint64_t lost = 0) {
    core::Tick tick;
    tick.t_ns = t_ns;
    tick.lost = lost;
    tick.process.pid = 10;
    tick.ledger.mm = kMm;
    return tick;
}

TEST(LiveStacks, HaveTheSumOfTheRecordsOfAProcess) {
    LiveStacks stacks(64);
    stacks.begin(kStart);
    adopt(stacks);
    page_comes(stacks, kStart + 10, 0);
    page_comes(stacks, kStart + 20, std::nullopt);
    stack_comes(stacks, 0);
    stacks.on_tick(tick_at(1'000));
    const auto profile = stacks.changed();
    ASSERT_NE(profile, nullptr);
    const auto sums = profile::by_stack(*profile, {10, 0});
    ASSERT_EQ(sums.size(), 1U);
    EXPECT_EQ(sums[0].flow.came, 2);
    EXPECT_FALSE(profile->lossy);
    EXPECT_EQ(stacks.changed(), nullptr) << "nothing has come since then";
    stacks.on_tick(tick_at(2'000, 1));
    page_comes(stacks, kStart + 3'000, std::nullopt);
    const auto later = stacks.changed();
    EXPECT_TRUE(later->lossy);
    EXPECT_EQ(profile::by_stack(*later).at(0).flow.came, 3);
}

TEST(LiveStacks, StartAgainAtTheLimit) {
    LiveStacks stacks(1, 8);
    stacks.begin(kStart);
    adopt(stacks);
    for (std::uint64_t sample = 0; sample < 6; ++sample) {
        page_comes(stacks, kStart + 10 + sample, sample);
        stack_comes(stacks, sample);
    }
    EXPECT_EQ(stacks.from_ns(), 0U);
    for (std::uint64_t sample = 6; sample < 20; ++sample)
        page_comes(stacks, kStart + 10 + sample, sample);
    stacks.on_tick(tick_at(1'000));
    EXPECT_EQ(stacks.from_ns(), 1'000U);
    stack_comes(stacks, 6);
    EXPECT_TRUE(profile::by_stack(*stacks.changed()).empty());
    page_comes(stacks, kStart + 2'000, 20);
    stack_comes(stacks, 20);
    EXPECT_EQ(profile::by_stack(*stacks.changed()).at(0).flow.came, 1);
}

TEST(LiveStacks, KeepNoMoreThanTheLimitOfWhatHasEnded) {
    LiveStacks stacks(64, 4'000);
    stacks.begin(kStart);
    std::size_t most = 0;
    for (int i = 1; i <= 50'000; ++i) {
        core::TaskLine exec;
        exec.task.kind = RSSLAG_EXEC;
        exec.task.t_ns = kStart + static_cast<std::uint64_t>(i) * 1'000;
        exec.task.tid = exec.task.tgid = exec.task.ns_tid = exec.task.ns_tgid = i;
        exec.task.mm = kMm + static_cast<std::uint64_t>(i) * 64;
        stacks.on_task(exec);
        rsslag_update update{};
        update.t_ns = exec.task.t_ns + 1;
        update.mm = exec.task.mm;
        update.tid = i;
        update.member = static_cast<std::uint8_t>(core::Member::Anon);
        update.flags = RSSLAG_TEARDOWN;
        core::Applied applied;
        applied.known = true;
        applied.ticket = static_cast<std::uint64_t>(i);  // and is never settled
        stacks.on_applied(update, applied);
        if (i % 1'000 == 0) stacks.on_tick(tick_at(static_cast<std::uint64_t>(i) * 1'000 + 2));
        most = std::max(most, stacks.kept());
    }
    EXPECT_LT(most, 20'000U);
}

TEST(Tee, PassesEachObserverWhatItNeeds) {
    struct Counting : analysis::TraceObserver {
        bool records = false, updates = false;
        int applied = 0, lines = 0, ticks = 0;
        bool needs_records() const override { return records; }
        bool needs_updates() const override { return updates; }
        void on_applied(const rsslag_update & /*update*/, const core::Applied & /*applied*/) override { ++applied; }
        void on_update(const core::EventLine & /*line*/) override { ++lines; }
        void on_tick(core::Tick /*tick*/) override { ++ticks; }
    };
    Counting first, second;
    analysis::Tee both(first, second);
    EXPECT_FALSE(both.needs_records());
    first.updates = true;
    second.records = true;
    EXPECT_TRUE(both.needs_records());
    EXPECT_FALSE(both.needs_updates()) << "the one with updates needs no records";
    both.on_applied({}, {});
    both.on_tick({});
    second.updates = true;
    EXPECT_TRUE(both.needs_updates());
    both.on_update({});
    EXPECT_EQ((std::array{first.applied, first.lines, first.ticks}), (std::array{0, 0, 1}));
    EXPECT_EQ((std::array{second.applied, second.lines, second.ticks}), (std::array{1, 1, 1}));
}

}  // namespace
}  // namespace rsslag::session
