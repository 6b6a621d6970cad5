// SPDX-License-Identifier: BSD-2-Clause
// The readers on a made-up /proc in a temporary directory.
#include "procfs/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "golden.h"

namespace rsslag::procfs {
namespace {

namespace fs = std::filesystem;
using core::Kind;
using test::golden;

/// A directory that looks like /proc, as far as a test fills it.
class MadeUpProc : public testing::Test {
  protected:
    MadeUpProc() {
        std::string path = (fs::temp_directory_path() / "procfs_test_XXXXXX").string();
        root_ = mkdtemp(path.data());
    }
    ~MadeUpProc() override { fs::remove_all(root_); }

    void put(const std::string &name, const std::string &text) const {
        fs::path path = root_ / name;
        fs::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text;
    }
    std::string root() const { return root_.string(); }
    Process process() const {
        auto opened = Process::open(8063, root());
        EXPECT_TRUE(opened.ok());
        return std::move(*opened);
    }

  private:
    fs::path root_;
};

TEST_F(MadeUpProc, GivesTheFilesParsed) {
    for (const char *name : {"stat", "statm", "status", "smaps", "smaps_rollup"}) {
        put(std::string("8063/") + name, golden(std::string("6.18/") + name));
    }
    fs::create_symlink("/usr/bin/some thing (deleted)", fs::path(root()) / "8063/exe");
    Process process = this->process();
    EXPECT_EQ(process.pid(), 8063);
    EXPECT_EQ(process.stat()->rss.n, 136);
    EXPECT_EQ(process.leader_stat()->rss.n, 136) << "there is no task with this TID";
    put("8063/task/8063/stat", golden("6.18/stat").replace(0, 14, "8063 (leader)"));
    EXPECT_EQ(process.leader_stat()->comm, "leader");
    EXPECT_EQ(process.statm()->resident.n, 176);
    EXPECT_EQ(process.status()->vm_rss, core::Kilobytes{704});
    EXPECT_EQ(process.smaps_text()->bytes, golden("6.18/smaps"));
    EXPECT_EQ(process.smaps_rollup_text()->bytes, golden("6.18/smaps_rollup"));
    EXPECT_GT(process.smaps_text()->took.count(), 0);
    EXPECT_EQ(*process.exe(), "/usr/bin/some thing (deleted)");
}

TEST_F(MadeUpProc, ReadsFilesLargerThanAnyBuffer) {
    std::string large(3'000'001, 'x');
    put("8063/large", large);
    EXPECT_EQ(process().read("large")->bytes, large);
}

TEST_F(MadeUpProc, NamesTheProcessWhereAFileIsCorrupt) {
    put("8063/stat", "8063 (x\n");
    auto stat = process().stat();
    ASSERT_FALSE(stat.ok());
    EXPECT_EQ(stat.error().kind, Kind::Corrupt);
    EXPECT_EQ(stat.error().what, "process 8063: stat line 1: no command name in parentheses after the pid");
}

TEST_F(MadeUpProc, SaysNoProcessWhereThereIsNoDirectory) {
    auto missing = Process::open(4711, root());
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().kind, Kind::Gone);
    EXPECT_EQ(missing.error().what, "no process 4711");
    put("4712", "a file");
    EXPECT_EQ(Process::open(4712, root()).error().kind, Kind::Gone);
    EXPECT_EQ(Process::open(-1, root()).error().kind, Kind::Gone);
}

TEST_F(MadeUpProc, DistinguishesAFileThatTheKernelLacksFromAProcessThatHasEnded) {
    put("8063/stat", golden("6.18/stat"));
    EXPECT_EQ(process().smaps_rollup_text().error().kind, Kind::Unsupported);
    EXPECT_EQ(process().read("pagemap").error().kind, Kind::Unsupported);
    fs::remove(fs::path(root()) / "8063/stat");
    EXPECT_EQ(process().smaps_rollup_text().error().kind, Kind::Gone);
    EXPECT_EQ(process().stat().error().what, "process 8063 has ended");
}

TEST_F(MadeUpProc, ReadsALiveThreadWhereTheLeaderHasNoMemory) {
    put("8063/stat", golden("6.18/stat"));
    put("8063/smaps", "");
    put("8063/smaps_rollup", "");
    put("8063/task/8063/smaps", "");
    put("8063/task/8064/smaps", "");  // about to end
    put("8063/task/8065/smaps", golden("6.18/smaps"));
    put("8063/task/8065/smaps_rollup", golden("6.18/smaps_rollup"));
    EXPECT_EQ(process().smaps_text()->bytes, golden("6.18/smaps"));
    EXPECT_EQ(process().smaps_rollup_text()->bytes, golden("6.18/smaps_rollup"));
}

/// The status of a task without memory: no Vm lines.
std::string status_of(const std::string &name, int tid) {
    return "Name:\t" + name + "\nTgid:\t8063\nPid:\t" + std::to_string(tid) +
           "\nPPid:\t1\nUid:\t0\t0\t0\t0\nThreads:\t3\n";
}

TEST_F(MadeUpProc, TakesAThreadsFilesWhereTheLeaderHasExited) {
    put("8063/stat", golden("6.18/stat"));
    put("8063/status", status_of("leader", 8063));
    put("8063/maps", "");
    put("8063/task/8063/status", status_of("leader", 8063));
    put("8063/task/8064/status", status_of("ending", 8064));
    put("8063/task/8064/maps", "");
    put("8063/task/8065/status", golden("6.18/status"));
    put("8063/task/8065/stat", golden("6.18/stat"));
    put("8063/task/8065/statm", golden("6.18/statm"));
    put("8063/task/8065/maps", "mapped");
    const auto task = process().memory_task();
    ASSERT_TRUE(task) << task.error().what;
    EXPECT_EQ(task->tid, 8065);
    EXPECT_EQ(task->directory, "task/8065/");
    EXPECT_EQ(task->status.vm_rss, core::Kilobytes{704});
    EXPECT_EQ(task->status.name, "leader") << "the name of a process is that of its leader";
    EXPECT_EQ(task->status.pid, 8063);
    EXPECT_EQ(process().read_of_memory_task("maps")->bytes, "mapped");
    EXPECT_TRUE(process().open_of_memory_task("maps"));
    EXPECT_EQ(statm_of(process(), *task)->resident.n, 176);
    EXPECT_EQ(stat_of(process(), *task)->rss.n, 136);
}

TEST_F(MadeUpProc, TakesTheLeadersOwnFilesAsLongAsItHasMemory) {
    put("8063/stat", golden("6.18/stat"));
    put("8063/status", golden("6.18/status"));
    put("8063/maps", "mapped");
    put("8063/task/8064/maps", "another's");
    EXPECT_EQ(process().memory_task()->directory, "");
    EXPECT_EQ(process().read_of_memory_task("maps")->bytes, "mapped");
}

TEST_F(MadeUpProc, HasNoTaskWithMemoryWhereNoneHas) {
    put("8063/stat", golden("6.18/stat"));
    put("8063/status", status_of("zombie", 8063));
    put("8063/task/8063/status", status_of("zombie", 8063));
    put("8063/task/8064/status", status_of("zombie", 8064));
    for (const core::Error &error : {process().memory_task().error(), process().read_of_memory_task("maps").error(),
                                     process().open_of_memory_task("pagemap").error()}) {
        EXPECT_EQ(error.kind, Kind::Gone);
        EXPECT_EQ(error.what, "process 8063 has no memory: it is a zombie or a kernel thread");
    }
    Stat stat = *process().stat();
    EXPECT_TRUE(has_memory(process(), stat)) << "a running process needs no other file";
    stat.flags |= 0x4;  // PF_EXITING
    EXPECT_FALSE(has_memory(process(), stat)) << "exit_mm() is done, exit_notify() is not";
    stat.state = 'Z';
    stat.num_threads = 2;
    EXPECT_FALSE(has_memory(process(), stat));
}

TEST_F(MadeUpProc, CallsAProcessWithoutMemoryGoneWithTheReason) {
    put("8063/stat", golden("6.18/stat"));
    put("8063/smaps", "");
    put("8063/task/8063/smaps", "");
    auto walk = process().smaps_text();
    ASSERT_FALSE(walk.ok());
    EXPECT_EQ(walk.error().kind, Kind::Gone);
    EXPECT_EQ(walk.error().what, "process 8063 has no memory: it is a zombie or a kernel thread");
}

TEST_F(MadeUpProc, ListsNumbersOnlyAndInTheirOrder) {
    for (const char *name : {"100/stat", "9/stat", "self/stat", "12x/stat", "0/stat", "-4/stat", "99999999999/stat"}) {
        put(name, "");
    }
    std::vector<pid_t> expected{9, 100};
    for (pid_t pid = 200; pid < 1000; pid += 37) {
        expected.push_back(pid);
        put(std::to_string(1177 - pid) + "/stat", "");  // no file system lists all of these in order by chance
    }
    EXPECT_EQ(*list_processes(root()), expected);
    for (const char *name : {"task/100", "task/9", "task/x"})
        put(std::string("8063/") + name + "/stat", "");
    EXPECT_EQ(*process().threads(), (std::vector<pid_t>{9, 100}));
    EXPECT_EQ(list_processes(root() + "/nowhere").error().kind, Kind::Io);
}

TEST_F(MadeUpProc, FindsTheGroupOfAThreadAndRefusesToGuessOne) {
    put("4712/status", "Name:\tx\nTgid:\t4711\nPid:\t4712\nPPid:\t1\nUid:\t0\t0\t0\t0\nThreads:\t3\n");
    put("4713/status", "Name:\tx\nTgid:\t0\nPid:\t0\nPPid:\t0\nUid:\t0\t0\t0\t0\nThreads:\t1\n");
    EXPECT_EQ(*thread_group_of(4712, root()), 4711);
    for (pid_t tid : {4713, 4714}) {
        auto none = thread_group_of(tid, root());
        ASSERT_FALSE(none.ok());
        EXPECT_EQ(none.error().kind, Kind::Gone);
        EXPECT_NE(none.error().what.find("no process or thread"), std::string::npos);
    }
}

TEST(OwnedDescriptor, ClosesWhatItHeldWhenItIsGivenAnother) {
    int first = open("/dev/null", O_RDONLY), second = open("/dev/null", O_RDONLY);
    {
        Fd fd(first);
        fd = Fd(second);
        EXPECT_EQ(fcntl(first, F_GETFD), -1);
        Fd moved(std::move(fd));
        EXPECT_TRUE(moved.open());
        EXPECT_EQ(moved.get(), second);
    }
    EXPECT_EQ(fcntl(second, F_GETFD), -1);
}

}  // namespace
}  // namespace rsslag::procfs
