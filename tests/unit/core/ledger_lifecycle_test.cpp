// SPDX-License-Identifier: BSD-2-Clause
// Start and end of mms and tasks, in the order of kernels, on both schemes, with the EXIT record at either place.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/counter_history.h"
#include "ledger_of.h"
#include "ledger_oracle.h"
#include "model_mix.h"
#include "readings.h"

namespace rsslag::core::test {
namespace {

/// A traced process with some pages touched, and an untraced process.
struct Scene {
    explicit Scene(const ModelOptions &options) : kernel(options), oracle(kernel) {
        root = &kernel.make_process("root", true);
        reader = &kernel.make_process("reader", false);
        oracle.adopt_all();
        touch(*root);
    }

    void touch(ModelTask &task, int pages = 40) {
        for (int i = 0; i < pages; ++i)
            kernel.anon_fault(task);
        kernel.file_fault(task, 5);
        kernel.settle();
    }
    ModelTask &last_task() const { return *kernel.tasks().back(); }
    ModelTask &thread_of(ModelTask &task) {
        kernel.make_thread(task);
        kernel.settle();
        return last_task();
    }
    ModelTask &child_of(ModelTask &task) {
        kernel.fork(task);
        kernel.settle();
        return last_task();
    }
    /// Every number of the ledger equals the model's.
    void expect_truth() {
        oracle.feed_all();
        for (ModelMm *mm : kernel.traced_mms()) {
            const std::optional<Check> check = oracle.compare(*mm);
            ASSERT_TRUE(check.has_value());
            EXPECT_EQ(check->disagreements, 0);
        }
        oracle.expect_sums();
        oracle.expect_truth();
    }
    void end() {
        for (ModelTask *task : kernel.tasks()) {
            if (task->group->traced) kernel.exit(*task);
        }
        oracle.expect_ends();
        EXPECT_TRUE(oracle.ledger().groups().empty());
    }
    const Ended *ended_of(int tgid, State state) const {
        for (const Ended &ended : oracle.ended()) {
            if (ended.group.host_tgid == tgid && ended.group.state == state) return &ended;
        }
        return nullptr;
    }

    ModelKernel kernel;
    Oracle oracle;
    ModelTask *root = nullptr;
    ModelTask *reader = nullptr;
};

void on_each_kernel(const std::function<void(Scene &)> &story, bool follow = true) {
    for (const Scheme scheme : {Scheme::Cpu, Scheme::Thread}) {
        for (const bool exit_before_teardown : {false, true}) {
            SCOPED_TRACE(testing::Message() << name(scheme) << (exit_before_teardown ? ", EXIT first" : ""));
            ModelOptions options;
            options.scheme = scheme;
            options.exit_before_teardown = exit_before_teardown;
            options.follow = follow;
            Scene scene(options);
            story(scene);
        }
    }
}

TEST(LedgerLifecycle, GivesEachThreadItsOwnPages) {
    on_each_kernel([](Scene &scene) {
        ModelTask &thread = scene.thread_of(*scene.root);
        scene.touch(thread, 100);
        scene.touch(*scene.root, 3);
        scene.expect_truth();
        scene.end();
    });
}

TEST(LedgerLifecycle, SumsUpThreadsThatAreGone) {
    on_each_kernel([](Scene &scene) {
        for (int i = 0; i < 300; ++i) {
            ModelTask &thread = scene.thread_of(*scene.root);
            scene.touch(thread, 2);
            scene.kernel.exit(thread);
            scene.kernel.settle();
        }
        scene.expect_truth();
        const MmView view = scene.oracle.ledger().view(scene.root->mm->address).value();
        EXPECT_EQ(view.exited.threads, 300U);
        EXPECT_EQ(view.tasks.size(), 1U);
        EXPECT_GE(view.exited.faults, 900U);
        EXPECT_GE(view.exited.net.anon, Pages{600});
        EXPECT_EQ(view.exited.net.file, Pages{1'500});
        scene.end();
    });
}

TEST(LedgerLifecycle, ReportsEachTaskAtItsEnd) {
    on_each_kernel([](Scene &scene) {
        for (int i = 0; i < 30; ++i) {
            ModelTask &thread = scene.thread_of(*scene.root);
            scene.touch(thread, 2 + i);
            scene.oracle.feed_all();
            scene.kernel.exit(thread);
            scene.kernel.settle();
        }
        const auto reported = [&scene] { return scene.oracle.ended_tasks().size(); };
        scene.oracle.feed_all();
        scene.kernel.run_for(CounterHistory::kSilentNs + 2 * kOnItsWayNs);
        scene.oracle.feed_all();
        EXPECT_EQ(reported(), 30U);
        EXPECT_EQ(scene.oracle.ended_checked(), 30U);
        const MmView view = scene.oracle.ledger().view(scene.root->mm->address).value();
        Members together;
        for (const EndedTask &each : scene.oracle.ended_tasks())
            together += each.task.net;
        EXPECT_EQ(together, view.exited.net);
        EXPECT_EQ(view.teardown, Members{});
        scene.end();
        EXPECT_EQ(reported(), 31U) << "including the last one";
        const MmView &end = scene.oracle.ended().back().mm;
        EXPECT_EQ(end.exited.net, Members{} - end.baseline);
        EXPECT_EQ(end.teardown, Members{} - end.last) << "the teardown frees the rest, and it is in no task's net";
    });
}

TEST(LedgerLifecycle, FollowsAForkFromItsFirstCopiedPage) {
    on_each_kernel([](Scene &scene) {
        ModelTask &child = scene.child_of(*scene.root);
        scene.touch(child);
        scene.expect_truth();
        const MmView view = scene.oracle.ledger().view(child.mm->address).value();
        EXPECT_EQ(view.baseline, Members{});
        EXPECT_EQ(scene.oracle.ledger().groups().size(), 2U);
        scene.end();
    });
}

TEST(LedgerLifecycle, ForgetsTheMmOfAnUntracedChild) {
    on_each_kernel(
        [](Scene &scene) {
            for (int i = 0; i < 20; ++i) {
                ModelTask &child = scene.child_of(*scene.root);
                const std::uint64_t address = child.mm->address;
                scene.touch(child);
                scene.kernel.exit(child);
                scene.oracle.feed_all();
                EXPECT_FALSE(scene.oracle.ledger().view(address).has_value());
            }
            scene.expect_truth();
            EXPECT_EQ(scene.oracle.ledger().groups().size(), 1U);
            scene.end();
        },
        false);
}

TEST(LedgerLifecycle, BindsAnExecsNewMmAndEndsTheOld) {
    on_each_kernel([](Scene &scene) {
        const std::uint64_t old = scene.root->mm->address;
        scene.kernel.exec(*scene.root, "other");
        scene.expect_truth();
        const MmView view = scene.oracle.ledger().view(scene.root->mm->address).value();
        EXPECT_EQ(view.baseline, Members{});
        EXPECT_TRUE(view.others.empty());
        EXPECT_EQ(scene.oracle.ledger().groups().at(0).comm, "other");
        const Ended *ended = scene.ended_of(scene.root->tid, State::Exec);
        ASSERT_NE(ended, nullptr);
        EXPECT_EQ(ended->mm.mm, old);
        EXPECT_TRUE(ended->mm.torn_down);
        EXPECT_EQ(ended->group.comm, "root");
        scene.end();
    });
}

TEST(LedgerLifecycle, EndsWhatWasBeforeAnExecBeforeWhatCameAfter) {
    constexpr std::uint64_t kNew = kMm + 0x1000;
    LedgerOf one(Scheme::Cpu);
    one.update(1'000, 4711, 0, 1, 0, RSSLAG_NEWBORN, kNew);
    one.task_record(2'000, RSSLAG_EXEC, RSSLAG_TRACED, 4711, 4711, kNew, "other");
    one.update(3'000, 4711, 0, 0, 0, RSSLAG_TEARDOWN, kNew);
    one.task_record(4'000, RSSLAG_EXIT, RSSLAG_TRACED | RSSLAG_GROUP_DEAD, 4711, 4711, kNew, "other");
    EXPECT_TRUE(one.ledger.take_ended().empty()) << "the teardown of the old mm is not complete yet";
    one.update(5'000, 4711, 0, 0, 0, RSSLAG_TEARDOWN);
    const std::vector<Ended> ended = one.ledger.take_ended();
    ASSERT_EQ(ended.size(), 2U);
    EXPECT_EQ(ended[0].group.state, State::Exec);
    EXPECT_EQ(ended[1].group.state, State::Exited);
}

// From 6.16 the EXIT record of the last task comes before the teardown.
TEST(LedgerLifecycle, DoesNotBlameAnUntracedProcessThatSharesAnMmForItsTeardown) {
    LedgerOf one(Scheme::Cpu);
    one.task_record(50, RSSLAG_NEWTASK, RSSLAG_SHARES_MM, 4800, 4800, kMm, "sharer");
    one.task_record(1'000, RSSLAG_EXIT, 0, 4712, 4711, kMm);
    one.task_record(1'100, RSSLAG_EXIT, RSSLAG_GROUP_DEAD, 4711, 4711, kMm);
    one.update(2'000, 4800, 0, 1'000, 3, kFault | RSSLAG_BY_OTHER);
    one.task_record(3'000, RSSLAG_EXIT, RSSLAG_GROUP_DEAD, 4800, 4800, kMm, "sharer");
    constexpr std::uint16_t kTeardown = RSSLAG_BY_OTHER | RSSLAG_EXITING | RSSLAG_TEARDOWN;
    one.update(4'000, 4800, 0, 600, 0, kTeardown);
    one.update(5'000, 4800, 0, 200, 0, kTeardown);
    one.update(6'000, 4800, 0, 0, 0, kTeardown);
    const MmView view = one.later();
    EXPECT_TRUE(view.others.empty());
    EXPECT_EQ(view.teardown, members(0, -1'003));
    EXPECT_EQ(view.exited.net, members(0, -1'000));
    EXPECT_EQ(view.updates, 4U);
    EXPECT_EQ(view.updates_by_others, 0U);
}

TEST(LedgerLifecycle, CountsTheFlushesOfATeardown) {
    LedgerOf one(Scheme::Cpu);
    one.update(1'000, 4711, 0, 1'000, 9, kFault);
    one.task_record(2'000, RSSLAG_EXIT, 0, 4712, 4711, kMm);
    one.update(3'000, 4711, 0, 600, 0, kOwn | RSSLAG_TEARDOWN);
    one.update(4'000, 4711, 0, 200, 0, kOwn | RSSLAG_TEARDOWN);
    one.update(5'000, 4711, 0, 0, 0, kOwn | RSSLAG_TEARDOWN);
    const MmView view = one.later();
    EXPECT_EQ(view.teardown, members(0, -1'009));
    EXPECT_EQ(view.teardown_updates, 3U);
    EXPECT_EQ(view.teardown_flushes, 3U);
    EXPECT_EQ(view.exited.flushes, 3U);
}

// The child of `record -- CMD` has no record before its EXEC. The kernel has given it the new mm by then.
TEST(LedgerLifecycle, GivesACommandWhatItsExecDidBeforeTheRecord) {
    constexpr std::uint64_t kNew = kMm + 0x1000;
    LedgerOf one(Scheme::Cpu);
    one.update(1'000, 4900, 0, 0, 1, RSSLAG_NEWBORN, kNew);
    one.update(2'000, 4900, 0, 0, 2, kOwn, kNew);
    one.task_record(3'000, RSSLAG_EXEC, RSSLAG_TRACED, 4900, 4900, kNew, "command");
    one.update(4'000, 4900, 0, 0, 3, kFault, kNew);
    const MmView view = one.ledger.view(kNew).value();
    EXPECT_EQ(row(view, 4900).updates, 3U);
    EXPECT_EQ(row(view, 4900).net, members(0, 3));
    EXPECT_EQ(view.updates, 3U);
    EXPECT_EQ(view.updates_by_others, 0U);
    EXPECT_EQ(view.exited.updates, 0U);
    EXPECT_TRUE(view.others.empty());
}

TEST(LedgerLifecycle, EndsAGroupWhoseMmLivesOnOnceItsUpdatesHaveSettled) {
    constexpr std::uint64_t kMs = 1'000'000;
    constexpr int kChild = 4720;
    constexpr std::uint16_t kShares = RSSLAG_SHARES_MM | RSSLAG_TRACED;
    LedgerOf one(Scheme::Cpu, {{0, members(0, 31)}, {1, members(0, 31)}});
    one.task_record(1 * kMs, RSSLAG_NEWTASK, kShares, kChild, kChild, kMm);
    EXPECT_NE(one.update(2 * kMs, kChild, 0, 1'032, 0).ticket, 0U) << "the other CPU may have folded, too";
    one.task_record(3 * kMs, RSSLAG_EXIT, RSSLAG_TRACED | RSSLAG_GROUP_DEAD, kChild, kChild, kMm);
    one.ledger.advance(kStart + 4 * kMs);
    EXPECT_TRUE(one.ledger.take_ended().empty());
    one.ledger.advance(kStart + 200 * kMs);
    const std::vector<Ended> ended = one.ledger.take_ended();
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0].group.host_tgid, kChild);
    EXPECT_EQ(ended[0].mm.extremes.most.from, Pages{1'063});
    EXPECT_EQ(ended[0].mm.extremes.most.to, Pages{1'063});
}

TEST(LedgerLifecycle, IsNotMisledByAThousandExecs) {
    on_each_kernel([](Scene &scene) {
        for (int i = 0; i < 1'000; ++i) {
            scene.kernel.exec(*scene.root, "image" + std::to_string(i));
            scene.kernel.settle();
        }
        scene.expect_truth();
        EXPECT_EQ(scene.oracle.ledger().ended_mms(), 1'000U);
        EXPECT_EQ(scene.oracle.ended().size(), 1'000U);
        scene.end();
    });
}

TEST(LedgerLifecycle, MakesNothingOfAThousandFailingPathSearches) {
    on_each_kernel([](Scene &scene) {
        scene.kernel.search_path(*scene.root, 1'000);
        scene.kernel.exec(*scene.root, "found");
        scene.expect_truth();
        EXPECT_EQ(scene.oracle.ledger().ended_mms(), 1'001U);
        EXPECT_EQ(scene.oracle.ended().size(), 1U);
        scene.end();
    });
}

TEST(LedgerLifecycle, TakesTheThreadThatExecsForTheLeader) {
    on_each_kernel([](Scene &scene) {
        ModelTask &thread = scene.thread_of(*scene.root);
        ModelTask &third = scene.thread_of(*scene.root);
        scene.touch(thread, 10);
        scene.touch(third, 10);
        const int leader = scene.root->tid;
        const int own = thread.tid;
        scene.kernel.exec(thread, "other");
        scene.expect_truth();
        EXPECT_EQ(thread.tid, leader);
        const MmView view = scene.oracle.ledger().view(thread.mm->address).value();
        ASSERT_EQ(view.tasks.size(), 1U);
        EXPECT_EQ(view.tasks[0].host_tid, leader);
        EXPECT_TRUE(view.others.empty());
        ASSERT_EQ(scene.oracle.ended().size(), 1U);
        for (const Renumbered &each : scene.oracle.ledger().take_renumbered()) {
            EXPECT_EQ(each.host_tid, leader);
            EXPECT_EQ(each.was.tid, ns_pid(own))
                << "before its EXEC record, its records are those of the thread that it was";
        }
        scene.end();
    });
}

TEST(LedgerLifecycle, LetsAVforkChildGoByItsExec) {
    on_each_kernel([](Scene &scene) {
        for (int i = 0; i < 1'000; ++i) {
            scene.kernel.fork_sharing(*scene.root);
            scene.kernel.settle();
            ModelTask &child = scene.last_task();
            if (i == 0) scene.touch(child, 3);
            scene.kernel.exec(child, "child");
            scene.kernel.settle();
            if (i > 0) scene.kernel.exit(child);
            scene.kernel.settle();
        }
        scene.expect_truth();
        EXPECT_EQ(scene.oracle.ledger().groups().size(), 2U);
        scene.end();
    });
}

TEST(LedgerLifecycle, KeepsAnMmThatAnotherGroupStillShares) {
    on_each_kernel([](Scene &scene) {
        scene.kernel.fork_sharing(*scene.root);
        scene.kernel.settle();
        ModelTask &child = scene.last_task();
        scene.touch(child, 30);
        scene.expect_truth();
        scene.kernel.exit(*scene.root);
        scene.kernel.settle();
        scene.touch(child, 30);
        scene.expect_truth();
        scene.kernel.run_for(50'000'000);
        scene.oracle.feed();
        EXPECT_EQ(scene.oracle.ledger().groups().size(), 1U);
        EXPECT_TRUE(scene.oracle.ledger().view(child.mm->address).has_value());
        scene.end();
    });
}

TEST(LedgerLifecycle, BlamesNoThreadForAReaderThatDropsTheLastReference) {
    on_each_kernel([](Scene &scene) {
        const int tgid = scene.root->tid;
        scene.kernel.hold(*scene.reader, *scene.root->mm);
        scene.kernel.settle();
        ModelMm &mm = *scene.root->mm;
        scene.kernel.exit(*scene.root);
        scene.kernel.settle();
        EXPECT_FALSE(mm.ended);
        scene.kernel.release(*scene.reader, mm);
        scene.end();
        const Ended *ended = scene.ended_of(tgid, State::Exited);
        ASSERT_NE(ended, nullptr);
        ASSERT_EQ(ended->mm.others.size(), 1U);
        EXPECT_EQ(ended->mm.others[0].comm, "reader");
        EXPECT_GT(ended->mm.exited.net.anon.n, 0);
        EXPECT_EQ(ended->mm.exited.net, ended->mm.exact() - ended->mm.baseline - ended->mm.others[0].net);
    });
}

TEST(LedgerLifecycle, NamesWhoWritesIntoAnothersMemory) {
    on_each_kernel([](Scene &scene) {
        ModelTask &child = scene.child_of(*scene.root);
        for (int i = 0; i < 70; ++i) {
            scene.kernel.write_into(*scene.reader, *scene.root->mm);
            scene.kernel.write_into(child, *scene.root->mm);
            scene.kernel.swap_out(*scene.reader, *child.mm);
        }
        scene.expect_truth();
        const MmView view = scene.oracle.ledger().view(scene.root->mm->address).value();
        ASSERT_EQ(view.others.size(), 2U);
        for (const TaskNet &other : view.others) {
            EXPECT_EQ(other.net, members(0, 70));
            EXPECT_EQ(other.updates, 70U);
        }
        EXPECT_EQ(view.updates_by_others, 140U);
        scene.end();
    });
}

TEST(LedgerLifecycle, DoesNotTakeAReusedTidForItsLastOwner) {
    for (const Scheme scheme : {Scheme::Cpu, Scheme::Thread}) {
        ModelOptions options;
        options.scheme = scheme;
        options.reuse_tids = true;
        Scene scene(options);
        ModelTask &first = scene.thread_of(*scene.root);
        scene.touch(first, 33);
        const int tid = first.tid;
        scene.kernel.exit(first);
        scene.kernel.settle();
        ModelTask &second = scene.thread_of(*scene.root);
        ASSERT_EQ(second.tid, tid);
        scene.touch(second, 2);
        scene.expect_truth();
        const MmView view = scene.oracle.ledger().view(scene.root->mm->address).value();
        EXPECT_EQ(view.tasks.back().net, members(5, 2));
        scene.end();
    }
}

TEST(LedgerLifecycle, DoesNotTakeAReusedTidOfAnotherProcessForItsLastOwner) {
    LedgerOf one(Scheme::Cpu);
    const std::vector<std::string> names{"first", "second", "third"};
    int pages = 0;
    for (const std::string &name : names) {
        one.task_record(static_cast<std::uint64_t>(pages) * 1'000, RSSLAG_SEEN, 0, 4900, 4900, 0, name);
        for (int i = 0; i < 5; ++i) {
            ++pages;
            one.update(static_cast<std::uint64_t>(pages) * 1'000, 4900, 0, 1'000, pages, RSSLAG_BY_OTHER);
        }
    }
    const MmView view = one.later();
    ASSERT_EQ(view.others.size(), 1U);
    EXPECT_EQ(view.others[0].comm, "third");
    EXPECT_EQ(view.others[0].updates, 5U);
    const std::vector<EndedTask> ended = one.ledger.take_ended_tasks();
    ASSERT_EQ(ended.size(), 2U);
    std::set<std::string> of_ended;
    for (const EndedTask &each : ended) {
        of_ended.insert(each.task.comm);
        EXPECT_FALSE(each.own);
        EXPECT_EQ(each.task.net, members(0, 5));
        EXPECT_EQ(each.task.updates, 5U);
    }
    EXPECT_EQ(of_ended, (std::set<std::string>{"first", "second"}));
    EXPECT_EQ(view.updates_by_others, 15U);
    EXPECT_EQ(view.ended_others.threads, 2U);
    EXPECT_EQ(view.ended_others.net, members(0, 10));
    EXPECT_EQ(view.ended_others.updates, 10U);
}

TEST(LedgerLifecycle, KeepsNamesUpToDate) {
    on_each_kernel([](Scene &scene) {
        ModelTask &thread = scene.thread_of(*scene.root);
        scene.kernel.rename(thread, "renamed");
        scene.expect_truth();
        EXPECT_EQ(scene.oracle.ledger().comm_of(thread.tid), "renamed");
        EXPECT_EQ(scene.oracle.ledger().comm_of(scene.root->tid), "root");
        EXPECT_EQ(scene.oracle.ledger().comm_of(1), "");
        scene.end();
    });
}

TEST(LedgerLifecycle, StartsWellFromAReadingOfAMovingProcess) {
    for (const Scheme scheme : {Scheme::Cpu, Scheme::Thread}) {
        for (std::uint64_t seed = 1; seed <= 30; ++seed) {
            SCOPED_TRACE(testing::Message() << name(scheme) << " seed " << seed);
            ModelOptions options;
            options.scheme = scheme;
            options.seed = seed;
            ModelKernel kernel(options);
            ModelTask &root = kernel.make_process("root", true);
            kernel.make_thread(root);
            kernel.settle();
            kernel.take_records();
            const Planner work = mixed_work(kernel, {.lifecycle = false});
            kernel.run_for(1'000'000, work);
            Oracle oracle(kernel);
            const std::uint64_t begin_ns = kernel.now();
            const CounterReading reading = kernel.read_slowly(*root.mm, work).value();
            oracle.ledger().adopt(reading, {root.tid, ns_pid(root.tid), "root", root.mm->address, State::Running},
                                  begin_ns, kernel.now());
            kernel.run_for(3'000'000, work);
            oracle.feed_all();
            oracle.expect_sums();
            ASSERT_TRUE(oracle.compare(*root.mm).has_value());
            EXPECT_EQ(oracle.ledger().view(root.mm->address)->exact(), root.mm->exact);
            kernel.run_for(3'000'000, work);
            oracle.feed_all();
            EXPECT_EQ(oracle.compare(*root.mm)->disagreements, 0);
            oracle.expect_sums();
            EXPECT_EQ(oracle.ledger().view(root.mm->address)->exact(), root.mm->exact);
        }
    }
}

}  // namespace
}  // namespace rsslag::core::test
