// SPDX-License-Identifier: BSD-2-Clause
// Tests of the model itself: the ledger is compared with it.
#include "model_kernel.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "model_mix.h"
#include "readings.h"

namespace rsslag::core::test {
namespace {

ModelOptions options_of(Scheme scheme, std::uint64_t seed = 1) {
    ModelOptions options;
    options.scheme = scheme;
    options.seed = seed;
    return options;
}

std::vector<rsslag_update> updates_of(const std::vector<Emitted> &records) {
    std::vector<rsslag_update> updates;
    for (const Emitted &emitted : records) {
        if (const auto *update = std::get_if<rsslag_update>(&emitted.record)) updates.push_back(*update);
    }
    return updates;
}

std::vector<rsslag_update> touch(ModelKernel &kernel, ModelTask &task, int pages) {
    for (int i = 0; i < pages; ++i)
        kernel.anon_fault(task);
    kernel.settle();
    return updates_of(kernel.take_records());
}

TEST(ModelKernel, FoldsAtTheBatchAndNotBefore) {
    ModelKernel kernel(options_of(Scheme::Cpu));
    ModelTask &task = kernel.make_process("one", true);
    task.pinned = 1;
    const std::int64_t before = task.mm->count.anon.n;
    const std::vector<rsslag_update> first = touch(kernel, task, 31);
    ASSERT_EQ(first.size(), 31U);
    EXPECT_EQ(first.back().cached, 31);
    EXPECT_EQ(first.back().count, before);
    EXPECT_EQ(first.back().cpu, 1);
    const std::vector<rsslag_update> fold = touch(kernel, task, 1);
    EXPECT_EQ(fold.back().cached, 0);
    EXPECT_EQ(fold.back().count, before + 32);
    kernel.zap(task, {{0}, {40}, {0}, {0}});
    kernel.settle();
    const std::vector<rsslag_update> zap = updates_of(kernel.take_records());
    ASSERT_EQ(zap.size(), 1U);
    EXPECT_EQ(zap[0].cached, 0);
    EXPECT_EQ(zap[0].count, before - 8);
    EXPECT_EQ(zap[0].flags, RSSLAG_OWN | RSSLAG_PROMPT);
}

TEST(ModelKernel, FlushesOnThe66thFaultAndWithoutIt) {
    ModelKernel kernel(options_of(Scheme::Thread));
    ModelTask &task = kernel.make_process("one", true);
    const std::int64_t before = task.mm->count.anon.n;
    EXPECT_TRUE(touch(kernel, task, 65).empty());
    EXPECT_EQ(task.cached.anon.n, 65);
    EXPECT_EQ(task.events, 65);
    const std::vector<rsslag_update> flush = touch(kernel, task, 1);
    ASSERT_EQ(flush.size(), 1U);
    EXPECT_EQ(flush[0].cached, 65);
    EXPECT_EQ(flush[0].count, before + 65);
    EXPECT_TRUE(flush[0].flags & RSSLAG_THRESHOLD);
    EXPECT_TRUE(flush[0].flags & RSSLAG_OWN);
    EXPECT_NE(flush[0].address, 0U);
    EXPECT_EQ(task.cached.anon.n, 1);
    EXPECT_EQ(task.events, 0);
}

TEST(ModelKernel, ReportsAtAFaultsEntryWhatWasCachedBefore) {
    ModelKernel kernel(options_of(Scheme::Thread));
    ModelTask &task = kernel.make_process("one", true);
    kernel.file_fault(task, 9);
    kernel.anon_fault(task);
    kernel.settle();
    const std::vector<Emitted> records = kernel.take_records();
    ASSERT_EQ(records.size(), 2U);
    EXPECT_EQ(std::get<rsslag_fault>(records[0].record).cached[0], 0);
    EXPECT_EQ(std::get<rsslag_fault>(records[1].record).cached[0], 9);
    EXPECT_EQ(std::get<rsslag_fault>(records[1].record).events, 1);
}

TEST(ModelKernel, FlushesBeforeItZapsItsOwnMm) {
    ModelKernel kernel(options_of(Scheme::Thread));
    ModelTask &task = kernel.make_process("one", true);
    touch(kernel, task, 5);
    kernel.file_fault(task, 3);
    kernel.zap(task, {{0}, {20}, {0}, {0}});
    kernel.settle();
    const std::vector<rsslag_update> updates = updates_of(kernel.take_records());
    ASSERT_EQ(updates.size(), 3U);
    EXPECT_EQ(updates[0].member, 0);
    EXPECT_EQ(updates[0].cached, 3);
    EXPECT_EQ(updates[1].member, 1);
    EXPECT_EQ(updates[1].cached, 5);
    EXPECT_EQ(updates[2].cached, 0);
    EXPECT_EQ(updates[2].count, updates[1].count - 20);
    EXPECT_EQ(task.events, 0);
}

TEST(ModelKernel, ExecsInTheOrderOfKernels) {
    ModelKernel kernel(options_of(Scheme::Cpu));
    ModelTask &task = kernel.make_process("one", true);
    const std::uint64_t old = task.mm->address;
    kernel.exec(task, "two");
    kernel.settle();
    const std::vector<Emitted> records = kernel.take_records();
    const auto &argument = std::get<rsslag_update>(records.front().record);
    EXPECT_TRUE(argument.flags & RSSLAG_NEWBORN);
    EXPECT_NE(argument.mm, old);
    bool left = false;
    for (std::size_t i = 1; i + 1 < records.size(); ++i) {
        const auto &update = std::get<rsslag_update>(records[i].record);
        EXPECT_EQ((update.flags & RSSLAG_TEARDOWN) != 0, update.mm == old && left) << i;
        left |= update.mm == old && i > 1;
        EXPECT_TRUE(update.mm == old || (update.flags & RSSLAG_OWN)) << i;
    }
    const auto &exec = std::get<rsslag_task>(records.back().record);
    EXPECT_EQ(exec.kind, RSSLAG_EXEC);
    EXPECT_EQ(exec.mm, argument.mm);
    EXPECT_STREQ(exec.comm, "two");
}

/// Counters and caches of every living mm add up to the true values at any time.
void expect_sums(const ModelKernel &kernel) {
    for (const ModelMm *mm : kernel.traced_mms()) {
        Members net = mm->baseline;
        for (const auto &[serial, one] : mm->net)
            net += one;
        EXPECT_EQ(net, mm->exact);
        Members counted = mm->count;
        for (const Members &local : mm->local)
            counted += local;
        for (const ModelTask *task : kernel.tasks_of(*mm))
            counted += task->cached;
        EXPECT_EQ(counted, mm->exact);
        EXPECT_EQ(kernel.read(*mm).exact(), mm->exact);
    }
}

TEST(ModelKernel, AddsUpOverMixedLives) {
    for (const Scheme scheme : {Scheme::Cpu, Scheme::Thread}) {
        std::set<int> kinds;
        for (std::uint64_t seed = 1; seed <= 12; ++seed) {
            SCOPED_TRACE(seed);
            ModelOptions options = options_of(scheme, seed);
            options.reuse_tids = seed % 2 == 0;
            ModelKernel kernel(options);
            kernel.attach(*kernel.make_process("root", true).mm);
            kernel.make_kernel_thread("kswapd0");
            const Planner work = mixed_work(kernel, {});
            for (int round = 0; round < 5; ++round) {
                kernel.run_for(3'000'000, work);
                kernel.settle();
                expect_sums(kernel);
            }
            for (const Emitted &emitted : kernel.take_records())
                kinds.insert(
                    std::visit([](const auto &record) { return static_cast<int>(record.kind); }, emitted.record));
        }
        EXPECT_EQ(kinds.size(), scheme == Scheme::Thread ? 7U : 6U);
    }
}

TEST(ModelKernel, GivesTheSameRecordsForTheSameSeed) {
    std::vector<std::uint64_t> times[2];
    for (auto &run : times) {
        ModelKernel kernel(options_of(Scheme::Cpu, 7));
        kernel.make_process("root", true);
        kernel.run_for(3'000'000, mixed_work(kernel, {}));
        for (const Emitted &emitted : kernel.take_records())
            run.push_back(time_of(emitted.record));
    }
    EXPECT_GT(times[0].size(), 1'000U);
    EXPECT_EQ(times[0], times[1]);
}

}  // namespace
}  // namespace rsslag::core::test
