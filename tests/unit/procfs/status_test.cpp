// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <tuple>
#include <vector>

#include "golden.h"
#include "procfs/files.h"

namespace rsslag::procfs {
namespace {

using core::Kilobytes;
using test::Exact;
using test::golden;
using test::refused;
using test::with;

auto tie(const StatusFile &s) {
    return std::tie(s.name, s.tgid, s.pid, s.ppid, s.real_uid, s.effective_uid, s.threads, s.ns_pids, s.vm_size,
                    s.vm_hwm, s.vm_rss, s.members, s.hugetlb);
}

constexpr const char *kSmall =
    "Name:\tx\nTgid:\t4711\nPid:\t4712\nPPid:\t1\nUid:\t1000\t1001\t1002\t1003\nNSpid:\t4712\t12\nThreads:\t3\n";

TEST(ParseStatus, ReadsWhatEachKernelPrints) {
    for (const char *kernel : {"5.10", "6.1", "6.12", "6.18", "7.x"}) {
        auto status = parse_status(golden(std::string(kernel) + "/status"));
        ASSERT_TRUE(status.ok()) << kernel << ": " << status.error().what;
        EXPECT_EQ(status->name, "hostile");
        EXPECT_EQ(status->tgid, 8063);
        EXPECT_EQ(status->pid, 8063);
        EXPECT_EQ(status->ppid, 8052);
        EXPECT_EQ(status->real_uid, 0U);
        EXPECT_EQ(status->threads, 1);
        EXPECT_EQ(status->ns_pids, std::vector<int>{8063});
        EXPECT_EQ(status->vm_size, Kilobytes{2020});
        EXPECT_EQ(status->vm_hwm, Kilobytes{704});
        EXPECT_EQ(status->vm_rss, Kilobytes{704});
        EXPECT_EQ(status->of(core::Member::Anon), Kilobytes{52});
        EXPECT_EQ(status->of(core::Member::File), Kilobytes{652});
        EXPECT_EQ(status->of(core::Member::Shmem), Kilobytes{0});
        EXPECT_EQ(status->of(core::Member::Swap), Kilobytes{0});
        EXPECT_EQ(status->hugetlb, Kilobytes{0});
    }
}

TEST(ParseStatus, LeavesTheSizesOfAKernelThreadAbsent) {
    auto status = parse_status(golden("6.18/kernel_thread.status"));
    ASSERT_TRUE(status.ok()) << status.error().what;
    EXPECT_EQ(status->name, "kthreadd");
    EXPECT_FALSE(status->vm_size || status->vm_hwm || status->vm_rss || status->hugetlb);
    for (const core::Member member : core::kAllMembers)
        EXPECT_FALSE(status->of(member));
}

TEST(ParseStatus, UndoesTheEscapesOfTheName) {
    auto status = parse_status(golden("6.18/hostile.status"));
    ASSERT_TRUE(status.ok()) << status.error().what;
    EXPECT_EQ(status->name, "a\\b\n) R 1 (\x1b\xff");
    auto blanks = parse_status(with(kSmall, "Name:\tx", "Name:\t  \t: "));
    ASSERT_TRUE(blanks.ok());
    EXPECT_EQ(blanks->name, "  \t: ");
    auto none = parse_status(with(kSmall, "Name:\tx", "Name:\t"));
    ASSERT_TRUE(none.ok());
    EXPECT_EQ(none->name, "");
}

TEST(ParseStatus, ReadsTheCredentialsAndNamespacesOfAThread) {
    auto status = parse_status(kSmall);
    ASSERT_TRUE(status.ok()) << status.error().what;
    EXPECT_EQ(status->tgid, 4711);
    EXPECT_EQ(status->pid, 4712);
    EXPECT_EQ(status->real_uid, 1000U);
    EXPECT_EQ(status->effective_uid, 1001U);
    EXPECT_EQ(status->ns_pids, (std::vector<int>{4712, 12}));
    EXPECT_EQ(status->threads, 3);
    auto overflow = parse_status(with(kSmall, "\t1000\t", "\t4294967295\t"));
    ASSERT_TRUE(overflow.ok());
    EXPECT_EQ(overflow->real_uid, 4294967295U);
    auto without = parse_status(with(kSmall, "NSpid:\t4712\t12\n", ""));
    ASSERT_TRUE(without.ok());
    EXPECT_TRUE(without->ns_pids.empty());
}

TEST(ParseStatus, TakesTheLinesInAnyOrder) {
    std::string text = golden("6.18/status");
    auto in_order = parse_status(text);
    ASSERT_TRUE(in_order.ok());
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line + "\n");
    std::reverse(lines.begin(), lines.end());
    std::string reversed;
    for (const std::string &line : lines)
        reversed += line;
    auto status = parse_status(reversed);
    ASSERT_TRUE(status.ok()) << status.error().what;
    EXPECT_EQ(tie(*status), tie(*in_order));
}

TEST(ParseStatus, SaysWhatIsWrongAndOnWhichLine) {
    auto bad = [](std::string_view from, std::string_view to) { return parse_status(with(kSmall, from, to)); };
    EXPECT_TRUE(refused(parse_status(""), "status line 1: the file is empty"));
    EXPECT_TRUE(refused(bad("Tgid:\t4711", "Tgid:\t"), "status line 2: Tgid is not an unsigned number"));
    EXPECT_TRUE(refused(bad("Tgid:\t4711", "Tgid:\t-1"), "status line 2: Tgid is not an unsigned number"));
    EXPECT_TRUE(refused(bad("Tgid:\t4711", "Tgid:\t4711 12"), "status line 2: Tgid has trailing characters"));
    EXPECT_TRUE(refused(bad("Tgid:\t4711", "Tgid:\t99999999999"), "status line 2: Tgid is out of range"));
    EXPECT_TRUE(refused(bad("Tgid:\t4711", "Tgid:\t1\nTgid:\t1"), "status line 3: Tgid appears twice"));
    EXPECT_TRUE(refused(bad("Tgid:\t4711\n", ""), "without a Tgid line"));
    EXPECT_TRUE(refused(bad("Threads:\t3\n", ""), "without a Threads line"));
    EXPECT_TRUE(refused(bad("Name:\tx\n", ""), "without a Name line"));
    EXPECT_TRUE(refused(bad("Name:\tx", "Name:x"), "status line 1: Name has no tab"));
    EXPECT_TRUE(refused(bad("Name:\tx", "Name:\tx\\"), "status line 1: Name has an escape"));
    EXPECT_TRUE(refused(bad("Name:\tx", "Name:\t\\t"), "status line 1: Name has an escape"));
    EXPECT_TRUE(refused(bad("\t1003", ""), "status line 5: Uid does not have four numbers"));
    EXPECT_TRUE(refused(bad("\t1003", "\t-3"), "status line 5: Uid is not an unsigned number"));
    EXPECT_TRUE(refused(bad("\t1003", "\t4294967296"), "status line 5: Uid is out of range"));
    EXPECT_TRUE(refused(bad("\t12\n", "\t12x\n"), "status line 6: NSpid has trailing characters"));
    EXPECT_TRUE(refused(bad("Threads", "no colon\nThreads"), "status line 7: a line without a colon"));
}

TEST(ParseStatus, RefusesSizesThatAreNoSizes) {
    auto size = [](const std::string &value) { return parse_status("VmRSS:" + value + "\n" + std::string(kSmall)); };
    auto good = size("\t       5 kB");
    ASSERT_TRUE(good.ok()) << good.error().what;
    EXPECT_EQ(good->vm_rss, Kilobytes{5});
    EXPECT_TRUE(refused(size("\t 5"), "status line 1: VmRSS is not in kB"));
    EXPECT_TRUE(refused(size("\t 5 MB"), "VmRSS is not in kB"));
    EXPECT_TRUE(refused(size("\t 5 kBs"), "VmRSS has trailing characters"));
    EXPECT_TRUE(refused(size("\t -5 kB"), "VmRSS is not an unsigned number"));
    EXPECT_TRUE(refused(size("\t kB"), "VmRSS is not an unsigned number"));
    EXPECT_TRUE(refused(size(""), "VmRSS is not an unsigned number"));
    EXPECT_TRUE(refused(size("\t 99999999999999999999 kB"), "VmRSS is out of range"));
    EXPECT_TRUE(refused(size("\t 18014398509481985 kB"), "VmRSS is out of range"));
    EXPECT_TRUE(refused(size("\t 5 kB\nVmRSS:\t 5 kB"), "status line 2: VmRSS appears twice"));
}

TEST(ParseStatus, CutAtAnyByteIsRefusedOrTheSame) {
    for (const char *name : {"6.18/status", "6.18/hostile.status", "6.18/kernel_thread.status", "5.10/status"}) {
        std::string text = golden(name);
        auto whole = parse_status(text);
        ASSERT_TRUE(whole.ok());
        for (std::size_t size = 0; size < text.size(); ++size) {
            auto cut = parse_status(Exact(text.substr(0, size)).view());
            if (cut) {
                EXPECT_EQ(tie(*cut), tie(*whole)) << name << " at " << size;
                EXPECT_EQ(text[size - 1], '\n') << name << " at " << size;
            } else {
                EXPECT_TRUE(refused(cut, "status line"));
            }
        }
    }
}

}  // namespace
}  // namespace rsslag::procfs
