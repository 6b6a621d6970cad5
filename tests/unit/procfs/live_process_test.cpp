// SPDX-License-Identifier: BSD-2-Clause
// The readers on this machine's own /proc: processes that end, change or cannot be read.
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "child.h"
#include "procfs/elf.h"
#include "procfs/memory_map.h"
#include "procfs/pagemap.h"
#include "procfs/process.h"
#include "procfs/program.h"

namespace rsslag::procfs {
namespace {

using core::Kind;
using test::Child;
using test::kIdle;

/// Starts a thread that sleeps forever. Returns its TID.
pid_t start_thread() {
    static pid_t tid;
    static int gate[2];
    if (pipe(gate) != 0) return -1;
    auto body = [](void *) -> void * {
        tid = static_cast<pid_t>(syscall(SYS_gettid));
        if (write(gate[1], "x", 1) != 1) return nullptr;
        for (;;)
            pause();
    };
    pthread_t thread{};
    if (pthread_create(&thread, nullptr, body, nullptr) != 0) return -1;
    char byte = 0;
    return read(gate[0], &byte, 1) == 1 ? tid : -1;
}

/// Waits until the process is in this state, as its memory changes until it pauses. ctest's timeout limits the wait.
void await_state(const Process &process, char state) {
    for (;;) {
        auto stat = process.stat();
        ASSERT_TRUE(stat.ok()) << stat.error().what;
        if (stat->state == state) return;
        usleep(1000);
    }
}

TEST(LiveProcess, ReadsAllOfItsOwnFiles) {
    auto self = Process::open(getpid());
    ASSERT_TRUE(self.ok()) << self.error().what;
    EXPECT_EQ(self->stat()->pid, getpid());
    EXPECT_GT(self->stat()->start_ticks, 0U);
    EXPECT_GT(self->statm()->resident.n, 0);
    EXPECT_EQ(self->status()->tgid, getpid());
    EXPECT_EQ(self->status()->real_uid, getuid());
    EXPECT_TRUE(self->status()->vm_rss.has_value());
    EXPECT_NE(self->exe()->find("procfs_test"), std::string::npos);
    auto threads = self->threads();
    ASSERT_TRUE(threads.ok());
    EXPECT_TRUE(std::find(threads->begin(), threads->end(), getpid()) != threads->end());
    auto all = list_processes();
    ASSERT_TRUE(all.ok());
    EXPECT_TRUE(std::binary_search(all->begin(), all->end(), getpid()));
}

TEST(LiveProcess, GivesAWalkThatItsParsersTake) {
    Child child(kIdle);
    ASSERT_EQ(child.heard(), 1);
    auto process = Process::open(child.pid());
    ASSERT_TRUE(process.ok());
    await_state(*process, 'S');
    auto before = process->smaps_rollup_text();
    auto smaps_text = process->smaps_text();
    auto rollup_text = process->smaps_rollup_text();
    ASSERT_TRUE(before.ok()) << before.error().what;
    ASSERT_TRUE(smaps_text.ok()) << smaps_text.error().what;
    ASSERT_TRUE(rollup_text.ok()) << rollup_text.error().what;
    auto mappings = parse_smaps(smaps_text->bytes);
    auto rollup = parse_smaps_rollup(rollup_text->bytes);
    ASSERT_TRUE(mappings.ok()) << mappings.error().what;
    ASSERT_TRUE(rollup.ok()) << rollup.error().what;
    if (parse_smaps_rollup(before->bytes)->sums.rss != rollup->sums.rss)
        GTEST_SKIP() << "the kernel reclaimed pages of the sleeping child";
    EXPECT_EQ(sum(*mappings).rss, rollup->sums.rss) << "the child sleeps, so its memory cannot change";
    EXPECT_EQ(sum(*mappings).anonymous, rollup->sums.anonymous);
    // Not the private and shared sums: this test writes to pages that it shared with the child until then.
}

TEST(LiveProcess, IsGoneForEveryReaderOnceItIsReaped) {
    Child child(kIdle);
    ASSERT_EQ(child.heard(), 1);
    auto process = Process::open(child.pid());
    ASSERT_TRUE(process.ok());
    child.end();
    EXPECT_EQ(process->stat().error().kind, Kind::Gone);
    EXPECT_EQ(process->statm().error().kind, Kind::Gone);
    EXPECT_EQ(process->status().error().kind, Kind::Gone);
    EXPECT_EQ(process->smaps_text().error().kind, Kind::Gone);
    EXPECT_EQ(process->smaps_rollup_text().error().kind, Kind::Gone);
    EXPECT_EQ(process->exe().error().kind, Kind::Gone);
    EXPECT_EQ(process->threads().error().kind, Kind::Gone);
    EXPECT_EQ(process->read("maps").error().kind, Kind::Gone);
    EXPECT_EQ(process->stat().error().what, "process " + std::to_string(child.pid()) + " has ended");
    EXPECT_EQ(thread_group_of(child.pid()).error().kind, Kind::Gone);
}

TEST(LiveProcess, HasNoMemoryAsAZombieButStillAStat) {
    Child child(kIdle);
    ASSERT_EQ(child.heard(), 1);
    auto process = Process::open(child.pid());
    ASSERT_TRUE(process.ok());
    child.kill_only();
    await_state(*process, 'Z');
    auto stat = process->stat();
    ASSERT_TRUE(stat.ok()) << stat.error().what;
    EXPECT_TRUE(stat->zombie());
    EXPECT_FALSE(has_memory(*process, *stat));
    EXPECT_EQ(process->memory_task().error().kind, Kind::Gone);
    EXPECT_FALSE(process->status()->vm_rss.has_value());
    EXPECT_EQ(process->statm()->resident.n, 0);
    EXPECT_EQ(*process->exe(), "");
    for (const auto &walk : {process->smaps_text(), process->smaps_rollup_text()}) {
        ASSERT_FALSE(walk.ok());
        EXPECT_EQ(walk.error().kind, Kind::Gone);
        EXPECT_NE(walk.error().what.find("a zombie or a kernel thread"), std::string::npos) << walk.error().what;
    }
}

TEST(LiveProcess, HasNoMemoryAsAKernelThread) {
    auto process = Process::open(2);
    if (!process || !process->stat() || !process->stat()->kernel_thread())
        GTEST_SKIP() << "no kernel thread is visible";
    if (geteuid() != 0) GTEST_SKIP() << "only root may try to walk a kernel thread";
    EXPECT_EQ(*process->exe(), "");
    EXPECT_FALSE(has_memory(*process, *process->stat()));
    EXPECT_EQ(process->memory_task().error().kind, Kind::Gone);
    EXPECT_FALSE(process->status()->vm_rss.has_value());
    for (const auto &walk : {process->smaps_text(), process->smaps_rollup_text()}) {
        ASSERT_FALSE(walk.ok());
        EXPECT_EQ(walk.error().kind, Kind::Gone);
        EXPECT_NE(walk.error().what.find("a zombie or a kernel thread"), std::string::npos) << walk.error().what;
    }
}

TEST(LiveProcess, IsWalkedThroughAThreadOnceItsLeaderHasExited) {
    Child child([](auto say) {
        pid_t tid = start_thread();
        say(tid);
        // Not pthread_exit(), which unwinds through the frames of the test.
        syscall(SYS_exit, 0);
    });
    pid_t tid = child.heard();
    ASSERT_GT(tid, 0);
    auto process = Process::open(child.pid());
    ASSERT_TRUE(process.ok());
    await_state(*process, 'Z');
    ASSERT_TRUE(process->stat()->zombie());
    EXPECT_EQ(process->stat()->num_threads, 2);
    EXPECT_EQ(process->stat()->rss.n, 0) << "the file of the ended leader shows no memory";
    EXPECT_FALSE(process->status()->vm_rss.has_value()) << "the file of the ended leader shows no memory";
    auto rollup_text = process->smaps_rollup_text();
    ASSERT_TRUE(rollup_text.ok()) << rollup_text.error().what;
    EXPECT_GT(parse_smaps_rollup(rollup_text->bytes)->sums.rss->n, 0);
    auto smaps_text = process->smaps_text();
    ASSERT_TRUE(smaps_text.ok()) << smaps_text.error().what;
    EXPECT_FALSE(parse_smaps(smaps_text->bytes)->empty());
    const auto task = process->memory_task();
    ASSERT_TRUE(task) << task.error().what;
    EXPECT_EQ(task->tid, tid);
    EXPECT_GT(task->status.vm_rss->n, 0);
    EXPECT_TRUE(has_memory(*process, *process->stat()));
    EXPECT_GT(statm_of(*process, *task)->text.n, 0);
    EXPECT_GT(stat_of(*process, *task)->rss.n, 0);
    const auto maps_text = process->read_of_memory_task("maps");
    ASSERT_TRUE(maps_text) << maps_text.error().what;
    EXPECT_FALSE(parse_maps(maps_text->bytes)->empty());
    EXPECT_NE(process->read_of_memory_task("cmdline")->bytes.find("procfs_test"), std::string::npos);
    EXPECT_FALSE(process->read_of_memory_task("mountinfo")->bytes.empty());
    EXPECT_TRUE(has_name(*process, "", "procfs_test"));
    const core::PageSize page_size{sysconf(_SC_PAGESIZE)};
    auto pages = PageReader::open(*process, page_size);
    ASSERT_TRUE(pages) << pages.error().what;
    PageCounts counts;
    PageBudget budget;
    const auto mappings = parse_smaps(smaps_text->bytes);
    for (const Mapping &mapping : *mappings) {
        if (!in_mm(mapping)) continue;
        EXPECT_TRUE(pages->count(mapping, budget, counts));
    }
    EXPECT_GT(counts.present.n, 0);
    const auto file =
        std::ranges::find_if(*mappings, [](const Mapping &each) { return each.name.ends_with("procfs_test"); });
    ASSERT_NE(file, mappings->end());
    EXPECT_TRUE(open_mapped(*process, *file));
    EXPECT_NE(process->exe()->find("procfs_test"), std::string::npos);
    EXPECT_EQ(*process->threads(), (std::vector<pid_t>{std::min(child.pid(), tid), std::max(child.pid(), tid)}));
}

TEST(LiveProcess, KnowsTheGroupOfAThreadThatProcDoesNotList) {
    Child child([](auto say) { say(start_thread()); });
    pid_t tid = child.heard();
    ASSERT_GT(tid, 0);
    EXPECT_EQ(*thread_group_of(tid), child.pid());
    EXPECT_EQ(*thread_group_of(child.pid()), child.pid());
    auto all = list_processes();
    ASSERT_TRUE(all.ok());
    EXPECT_FALSE(std::binary_search(all->begin(), all->end(), tid));
}

TEST(LiveProcess, OfAnotherUserIsDeniedWithTheRemedy) {
    if (geteuid() != 0) {
        auto init = Process::open(1);
        if (!init || !init->status() || init->status()->real_uid == getuid())
            GTEST_SKIP() << "process 1 does not belong to another user";
        EXPECT_EQ(init->smaps_text().error().kind, Kind::Denied);
        return;
    }
    pid_t target = getpid();
    Child child([target](auto) {
        if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) _exit(9);
        auto process = Process::open(target);
        if (!process) _exit(1);
        if (!process->stat().ok()) _exit(2);
        for (const auto &walk : {process->smaps_text(), process->smaps_rollup_text(), process->read("maps")}) {
            if (walk.ok()) _exit(3);
            if (walk.error().kind != Kind::Denied) _exit(4);
            if (walk.error().remedy.find(": sudo setcap cap_sys_ptrace+ep /") == std::string::npos) _exit(5);
        }
        if (process->exe().ok() || process->exe().error().kind != Kind::Denied) _exit(6);
        _exit(0);
    });
    EXPECT_EQ(child.exit_status(), 0);
}

/// A process with the PID `requested`, or -1. Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.
pid_t fork_with_pid(pid_t requested) {
    clone_args args{};
    args.exit_signal = SIGCHLD;
    args.set_tid = reinterpret_cast<std::uintptr_t>(&requested);
    args.set_tid_size = 1;
    auto pid = static_cast<pid_t>(syscall(SYS_clone3, &args, sizeof args));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return pid;
}

TEST(LiveProcess, IsGoneAlsoWhenItsPidIsAnothersByThen) {
    Child child(kIdle);
    ASSERT_EQ(child.heard(), 1);
    auto process = Process::open(child.pid());
    ASSERT_TRUE(process.ok());
    child.end();
    pid_t heir = fork_with_pid(child.pid());
    if (heir < 0) GTEST_SKIP() << "cannot create a process with a given PID: " << std::strerror(errno);
    ASSERT_EQ(heir, child.pid());
    EXPECT_TRUE(Process::open(heir).ok());
    EXPECT_TRUE(Process::open(heir)->stat().ok());
    EXPECT_EQ(process->stat().error().kind, Kind::Gone);
    EXPECT_EQ(process->smaps_text().error().kind, Kind::Gone);
    EXPECT_EQ(process->smaps_rollup_text().error().kind, Kind::Gone);
    EXPECT_EQ(process->threads().error().kind, Kind::Gone);
    kill(heir, SIGKILL);
    waitpid(heir, nullptr, 0);
}

}  // namespace
}  // namespace rsslag::procfs
