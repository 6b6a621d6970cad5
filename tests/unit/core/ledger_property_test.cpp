// SPDX-License-Identifier: BSD-2-Clause
// Properties of the ledger over random work, on both schemes, from fixed seeds.
#include <gtest/gtest.h>

#include <algorithm>

#include "ledger_oracle.h"
#include "model_mix.h"
#include "readings.h"

namespace rsslag::core::test {
namespace {

ModelOptions with_folios(ModelOptions options, const Mix &mix) {
    if (mix.huge_pages) options.anon_orders |= 1U << 9;
    return options;
}

struct World {
    explicit World(const ModelOptions &options, const Mix &mix = {}, int threads = 1)
        : kernel(with_folios(options, mix)), oracle(kernel), work(mixed_work(kernel, mix)) {
        ModelTask &root = kernel.make_process("root", true);
        kernel.make_kernel_thread("kswapd0");
        kernel.make_process("writer", false);
        for (int i = 1; i < threads; ++i)
            kernel.make_thread(root);
        oracle.adopt_all();
    }

    ModelKernel kernel;
    Oracle oracle;
    Planner work;
};

ModelOptions mixed_options(Scheme scheme, std::uint64_t seed) {
    ModelOptions options;
    options.scheme = scheme;
    options.seed = seed;
    options.cpus = static_cast<int>(1 + seed % 4);
    options.exit_before_teardown = seed % 2 == 0;
    options.after_fault = seed % 3 == 0;
    options.reuse_tids = seed % 5 == 0;
    options.follow = seed % 7 != 0;
    return options;
}

/// Compares each mm while it changes, then each while it is quiescent.
void compare_all(World &world) {
    for (ModelMm *mm : world.kernel.traced_mms()) {
        if (mm->users == 0) continue;
        const std::optional<Check> moving = world.oracle.compare(*mm, world.work);
        if (moving) {
            EXPECT_EQ(moving->disagreements, 0) << "while it changed, until " << world.kernel.now();
        }
        world.oracle.expect_sums();
    }
    world.oracle.feed_all();
    for (ModelMm *mm : world.kernel.traced_mms()) {
        std::optional<Check> quiet = world.oracle.compare(*mm);
        // After interrupts the last record by time may not be of the last update; the reading resolves this.
        if (world.kernel.options().interrupt_one_in > 0) {
            EXPECT_EQ(quiet->disagreements, 0) << "at rest, at " << world.kernel.now();
            quiet = world.oracle.compare(*mm);
        }
        ASSERT_TRUE(quiet.has_value());
        EXPECT_TRUE(quiet->known);
        EXPECT_TRUE(quiet->quiet);
        EXPECT_EQ(quiet->disagreements, 0) << "at rest, at " << world.kernel.now();
    }
}

void expect_no_resync(World &world) {
    for (const ModelMm *mm : world.kernel.traced_mms()) {
        const std::optional<MmView> view = world.oracle.ledger().view(mm->address);
        ASSERT_TRUE(view.has_value());
        EXPECT_EQ(view->disagreements, 0U);
        EXPECT_EQ(view->resyncs, 0U);
    }
}

void live_and_compare(World &world) {
    for (int round = 0; round < 4 && !testing::Test::HasFailure(); ++round) {
        SCOPED_TRACE(testing::Message() << "round " << round);
        for (int chunk = 0; chunk < 10; ++chunk) {
            world.kernel.run_for(world.kernel.dice().ns(1'000, 400'000), world.work);
            world.oracle.feed();
            world.oracle.expect_sums();
        }
        compare_all(world);
        world.oracle.expect_sums();
        world.oracle.expect_truth();
        expect_no_resync(world);
    }
    for (ModelTask *task : world.kernel.tasks()) {
        if (task->group->traced) world.kernel.exit(*task);
    }
    world.oracle.expect_ends();
}

void live_with(std::uint64_t seed, Scheme scheme, const Mix &mix, bool counting, int interrupt_one_in) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ModelOptions options = mixed_options(scheme, seed);
    options.counting = counting;
    options.interrupt_one_in = interrupt_one_in;
    // TIDs are given out cyclically (kernel/pid.c idr_alloc_cyclic), so a sum is read long before its TID is reused.
    if (counting) options.reuse_tids = false;
    World world(options, mix, static_cast<int>(1 + seed % 8));
    live_and_compare(world);
    EXPECT_GT(world.oracle.updates(), counting ? 50U : 500U);
}

void live_over_seeds(Scheme scheme, const Mix &mix, bool counting = false, int interrupt_one_in = 0) {
    const std::uint64_t first = first_seed();
    const auto count = static_cast<std::uint64_t>(runs(interrupt_one_in > 0 ? 25 : 60));
    for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed)
        live_with(seed, scheme, mix, counting, interrupt_one_in);
}

TEST(LedgerAlways, AgreesWithWhatCpusCacheOverMixedLives) {
    live_over_seeds(Scheme::Cpu, {.threads = 8});
}

TEST(LedgerAlways, AgreesWhereTheKernelSumsUpOverMixedLives) {
    live_over_seeds(Scheme::Cpu, {.threads = 8}, true);
}

TEST(LedgerAlways, AgreesWhereTheKernelSumsUpHugePages) {
    live_over_seeds(Scheme::Cpu, {.threads = 4, .lifecycle = false, .huge_pages = true}, true);
}

TEST(LedgerAlways, AgreesWithWhatThreadsCacheOverMixedLives) {
    live_over_seeds(Scheme::Thread, {.threads = 8});
}

/// The old mm of an exec ended before the EXEC record, and all that it held was a page that may have been flushed.
TEST(LedgerAlways, AgreesWhereAnAddressIsGivenAgainBeforeItsEndIsCertain) {
    if (kSanitized) GTEST_SKIP() << "it takes a minute and a half in a build with sanitizers";
    live_with(338, Scheme::Thread, {.threads = 8}, false, 0);
}

/// A CPU's clock lags, so the last record by time belongs to the last update but one. The mm was at zero nevertheless.
TEST(LedgerAlways, AgreesWhereTheLastRecordOfAnMmIsNotOfItsLastUpdate) {
    if (kSanitized) GTEST_SKIP() << "it takes a minute in a build with sanitizers";
    for (const std::uint64_t seed : {118U, 222U})
        live_with(seed, Scheme::Thread, {.threads = 8}, false, 10);
}

TEST(LedgerAlways, AgreesWhereHugePagesComeInBetweenOnCpus) {
    live_over_seeds(Scheme::Cpu, {.threads = 4, .lifecycle = false, .huge_pages = true});
}

TEST(LedgerAlways, AgreesWhereHugePagesPassTheThreadsCaches) {
    live_over_seeds(Scheme::Thread, {.threads = 4, .lifecycle = false, .huge_pages = true});
}

TEST(LedgerAlways, AgreesWhereCpusAreTakenAwayBetweenUpdatesAndTheirRecords) {
    live_over_seeds(Scheme::Cpu, {.threads = 8}, false, 10);
    live_over_seeds(Scheme::Cpu, {.threads = 8}, true, 10);
    live_over_seeds(Scheme::Thread, {.threads = 8}, false, 10);
}

TEST(LedgerAlways, ReturnsNoAmountThatTurnsOutWrong) {
    for (const Scheme scheme : {Scheme::Cpu, Scheme::Thread}) {
        for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(runs(20)); ++seed) {
            World world(mixed_options(scheme, seed), {.threads = 8}, 4);
            world.kernel.run_for(3'000'000, world.work);
            world.oracle.feed_all();
            EXPECT_EQ(world.oracle.misreported(), 0U)
                << name(scheme) << ", seed " << seed << ", first " << world.oracle.first_misreported();
        }
    }
}

TEST(LedgerAlways, LeavesHardlyAnythingOpenWhereOneWorksAtATime) {
    std::int64_t uncertain = 0;
    std::uint64_t touched = 0;
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(runs(20)) && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        World world(mixed_options(Scheme::Cpu, seed), {.lifecycle = false}, 8);
        for (int turn = 0; turn < 2'000; ++turn) {
            const std::vector<ModelTask *> tasks = world.kernel.tasks();
            world.work(*tasks[static_cast<std::size_t>(world.kernel.dice().ns(0, tasks.size() - 1))]);
            world.kernel.settle();
        }
        world.oracle.feed_all();
        world.oracle.expect_truth();
        uncertain += world.oracle.uncertain();
        touched += world.kernel.pages_touched();
    }
    // Records of finished work are in order, but no record proves how long before it its update took effect. If two
    // records are within one or two microseconds and show the same count, each count may include the other's update.
    EXPECT_LT(uncertain * 20, static_cast<std::int64_t>(touched));
}

TEST(LedgerAlways, IsExactByThreadWhereTwoStormOnTwoCpus) {
    int met = 0;
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(runs(12)) && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        ModelOptions options;
        options.seed = seed;
        World world(options, {.storm_only = true}, 2);
        world.kernel.run_for(25'000'000, world.work);
        world.oracle.feed_all();
        world.oracle.expect_truth();
        // Two munmaps of unknown size whose records show the same count cannot be distinguished.
        if (world.kernel.open_overlaps() == 0) {
            EXPECT_EQ(world.oracle.uncertain(), 0);
        } else {
            ++met;
        }
    }
    EXPECT_LE(met, 3);
}

TEST(LedgerAlways, LeavesLittleOpenWhereEightThreadsShareTwoCpus) {
    for (const bool storm : {true, false}) {
        for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(runs(8)) && !testing::Test::HasFailure();
             ++seed) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << (storm ? " of storms" : " of everything"));
            ModelOptions options;
            options.seed = seed;
            World world(options, {.storm_only = storm, .lifecycle = false}, 8);
            const std::uint64_t before = world.kernel.pages_touched();
            world.kernel.run_for(25'000'000, world.work);
            world.oracle.feed_all();
            world.oracle.expect_truth();
            // If every other update cancels what its CPU had, the same counts often have several explanations.
            const std::int64_t part = storm ? 100 : 20;
            EXPECT_LT(world.oracle.uncertain() * part,
                      static_cast<std::int64_t>(world.kernel.pages_touched() - before));
        }
    }
}

TEST(LedgerAlways, ComesBackAfterALossAtTheNextComparison) {
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(runs(40)) && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        World world(mixed_options(seed % 2 == 0 ? Scheme::Cpu : Scheme::Thread, seed), {.lifecycle = false}, 4);
        world.oracle.lose_one_in(50);
        world.kernel.run_for(3'000'000, world.work);
        world.oracle.feed_all();
        world.oracle.expect_sums();
        world.oracle.lose_one_in(0);
        ASSERT_GT(world.oracle.lost(), 0U);
        ModelMm &mm = *world.kernel.traced_mms().front();
        EXPECT_TRUE(world.oracle.ledger().needs_resync(mm.address));
        ASSERT_TRUE(world.oracle.compare(mm).has_value());
        EXPECT_FALSE(world.oracle.ledger().needs_resync(mm.address));
        const MmView view = world.oracle.ledger().view(mm.address).value();
        EXPECT_EQ(view.exact(), mm.exact);
        EXPECT_EQ(view.resyncs, 1U);
        world.oracle.expect_sums();
        world.kernel.run_for(3'000'000, world.work);
        compare_all(world);
        EXPECT_EQ(world.oracle.ledger().view(mm.address)->exact(), mm.exact);
        for (ModelTask *task : world.kernel.tasks()) {
            if (task->group->traced) world.kernel.exit(*task);
        }
        world.oracle.expect_ends();
    }
}

/// Any update that a ring may hold after a bug, or a damaged recording.
rsslag_update any_update(Dice &dice, std::uint64_t t_ns) {
    rsslag_update update{};
    update.kind = RSSLAG_UPDATE;
    update.flags = static_cast<rsslag_u16>(dice.between(0, 1023));
    update.tid = static_cast<rsslag_s32>(dice.between(-2, 12));
    update.t_ns = t_ns;
    update.mm = static_cast<rsslag_u64>(dice.between(0, 4)) * 1024;
    update.count = dice.between(-5'000, 5'000);
    update.cached = static_cast<rsslag_s32>(dice.between(-600, 600));
    update.cpu = static_cast<rsslag_u16>(dice.once_in(20) ? 65'535 : dice.between(0, 4));
    update.member = static_cast<rsslag_u8>(dice.once_in(20) ? 255 : dice.between(0, 3));
    return update;
}

rsslag_task any_task(Dice &dice, std::uint64_t t_ns) {
    rsslag_task task{};
    task.kind = static_cast<rsslag_u16>(dice.between(RSSLAG_NEWTASK, RSSLAG_EXIT + 1));
    task.flags = static_cast<rsslag_u16>(dice.between(0, 15));
    task.tid = static_cast<rsslag_s32>(dice.between(-2, 12));
    task.t_ns = t_ns;
    task.mm = static_cast<rsslag_u64>(dice.between(0, 4)) * 1024;
    task.tgid = static_cast<rsslag_s32>(dice.between(-2, 12));
    task.parent = static_cast<rsslag_s32>(dice.between(-2, 12));
    task.old_tid = static_cast<rsslag_s32>(dice.between(-2, 12));
    std::fill_n(task.comm, sizeof task.comm, 'x');  // not terminated
    return task;
}

rsslag_sum any_sum(Dice &dice, std::uint64_t t_ns) {
    rsslag_sum sum{};
    sum.kind = RSSLAG_SUM;
    sum.flags = static_cast<rsslag_u16>(dice.between(0, 2047));
    sum.tid = static_cast<rsslag_s32>(dice.between(-2, 12));
    sum.t_ns = t_ns;
    sum.mm = static_cast<rsslag_u64>(dice.between(0, 4)) * 1024;
    for (rsslag_s32 &cached : sum.cached)
        cached = static_cast<rsslag_s32>(dice.between(-600, 600));
    sum.updates = static_cast<rsslag_u32>(dice.between(0, 5));
    sum.number = static_cast<rsslag_u32>(dice.between(-3, 3));
    sum.cpu = sum.of = static_cast<rsslag_u16>(dice.once_in(20) ? 65'535 : dice.between(0, 4));
    sum.members = static_cast<rsslag_u8>(dice.between(0, 255));
    return sum;
}

TEST(LedgerAlways, AddsUpForRandomRecords) {
    for (const Scheme scheme : {Scheme::Cpu, Scheme::Thread, Scheme::Plain}) {
        Dice dice(5);
        Ledger ledger({scheme, 4, 32});
        for (std::uint64_t t_ns = 1'000'000'000; t_ns < 1'020'000'000; t_ns += 400) {
            rsslag_fault fault{};
            fault.kind = RSSLAG_FAULT;
            fault.tid = static_cast<rsslag_s32>(dice.between(-2, 12));
            fault.mm = static_cast<rsslag_u64>(dice.between(0, 4)) * 1024;
            fault.t_ns = dice.once_in(10) ? t_ns - 100'000 : t_ns;
            fault.cached[dice.between(0, 3)] = static_cast<rsslag_s32>(dice.between(-600, 600));
            switch (dice.between(0, 10)) {
                case 10: ledger.apply(any_sum(dice, fault.t_ns)); break;
                case 0: ledger.apply(any_task(dice, t_ns)); break;
                case 1: ledger.apply(fault); break;
                case 2: ledger.advance(t_ns - 1'000); break;
                default: ledger.apply(any_update(dice, fault.t_ns)); break;
            }
            if (!dice.once_in(25)) continue;
            for (std::uint64_t mm = 0; mm <= 4 * 1024; mm += 1024) {
                if (const std::optional<MmView> view = ledger.view(mm)) {
                    ASSERT_EQ(sum_of(*view), view->exact());
                }
            }
            for (const Ended &ended : ledger.take_ended())
                ASSERT_EQ(sum_of(ended.mm), ended.mm.exact());
        }
    }
}

}  // namespace
}  // namespace rsslag::core::test
