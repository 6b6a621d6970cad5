// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <tuple>

#include "golden.h"
#include "procfs/files.h"

namespace rsslag::procfs {
namespace {

using test::Exact;
using test::golden;
using test::refused;
using test::with;

auto tie(const Statm &s) {
    return std::tie(s.size, s.resident, s.shared, s.text, s.lib, s.data, s.dirty);
}

/// A stat line with this name and at least 24 fields.
std::string stat_named(const std::string &comm) {
    return "4711 (" + comm + ") S 1 2 3 0 -1 4194304 10 0 2 0 0 0 0 0 20 -5 3 0 99 8192 7 1 0\n";
}

TEST(ParseStat, ReadsWhat618Prints) {
    auto stat = parse_stat(golden("6.18/stat"));
    ASSERT_TRUE(stat.ok()) << stat.error().what;
    EXPECT_EQ(stat->pid, 8063);
    EXPECT_EQ(stat->comm, "hostile");
    EXPECT_EQ(stat->state, 'R');
    EXPECT_EQ(stat->ppid, 8052);
    EXPECT_EQ(stat->flags, 4194304U);
    EXPECT_EQ(stat->min_flt, 53U);
    EXPECT_EQ(stat->maj_flt, 0U);
    EXPECT_EQ(stat->num_threads, 1);
    EXPECT_EQ(stat->start_ticks, 179786U);
    EXPECT_EQ(stat->vsize_bytes, 2068480U);
    EXPECT_EQ(stat->rss.n, 136);
    EXPECT_FALSE(stat->kernel_thread());
    EXPECT_FALSE(stat->zombie());
}

TEST(ParseStat, ReadsOtherKernelsAndFieldsYetToCome) {
    for (const char *kernel : {"5.10", "6.1", "6.12", "7.x"}) {
        auto stat = parse_stat(golden(std::string(kernel) + "/stat"));
        ASSERT_TRUE(stat.ok()) << kernel << ": " << stat.error().what;
        EXPECT_EQ(stat->rss.n, 136) << kernel;
    }
}

TEST(ParseStat, KnowsAKernelThreadByItsFlag) {
    auto stat = parse_stat(golden("6.18/kernel_thread.stat"));
    ASSERT_TRUE(stat.ok()) << stat.error().what;
    EXPECT_TRUE(stat->kernel_thread());
    EXPECT_EQ(stat->comm, "kthreadd");
}

TEST(ParseStat, TakesTheLastParenthesisAsTheEndOfTheName) {
    auto stat = parse_stat(golden("6.18/hostile.stat"));
    ASSERT_TRUE(stat.ok()) << stat.error().what;
    EXPECT_EQ(stat->comm, "a\\b\n) R 1 (\x1b\xff");
    EXPECT_EQ(stat->rss.n, 168);
    using std::string_literals::operator""s;
    for (const std::string &comm :
         {""s, ")"s, "("s, "))) R 1 2 3"s, "\n\n"s, " "s, "a\0b"s, "\xff\xfe"s, ") Z 1 1 1 1 1 1 1 1 (x"s}) {
        auto named = parse_stat(stat_named(comm));
        ASSERT_TRUE(named.ok()) << comm << ": " << named.error().what;
        EXPECT_EQ(named->comm, comm);
        EXPECT_EQ(named->state, 'S');
        EXPECT_EQ(named->maj_flt, 2U);
        EXPECT_EQ(named->num_threads, 3);
        EXPECT_EQ(named->rss.n, 7);
    }
}

TEST(ParseStat, SaysWhichFieldIsWrongAndOnWhichLine) {
    std::string good = stat_named("x");
    EXPECT_TRUE(refused(parse_stat(""), "stat line 1: the file is empty"));
    EXPECT_TRUE(refused(parse_stat("\n"), "field 1 (pid)"));
    EXPECT_TRUE(refused(parse_stat(with(good, "4711", "-4711")), "field 1 (pid) is not an unsigned number"));
    EXPECT_TRUE(refused(parse_stat(with(good, "4711", "99999999999")), "field 1 (pid) is out of range"));
    EXPECT_TRUE(refused(parse_stat("4711 x S 1\n"), "no command name"));
    EXPECT_TRUE(refused(parse_stat("4711 )x( S 1\n"), "no command name"));
    EXPECT_TRUE(refused(parse_stat("4711 (x)\n"), "ends after the command name"));
    EXPECT_TRUE(refused(parse_stat(with(good, " S ", " SS ")), "field 3 (state) is not a letter"));
    EXPECT_TRUE(refused(parse_stat(with(good, " S ", "  ")), "field 3 (state)"));
    EXPECT_TRUE(refused(parse_stat(with(good, " S 1 ", " S -1 ")), "field 4 (ppid) is not an unsigned number"));
    EXPECT_TRUE(refused(parse_stat(with(good, " 3 0 -1 ", " 3 0 - ")), "field 8 (unused) is not a number"));
    EXPECT_TRUE(
        refused(parse_stat(with(good, " 8192 ", " 18446744073709551616 ")), "field 23 (vsize) is out of range"));
    EXPECT_TRUE(
        refused(parse_stat(with(good, " 7 1 0\n", " 9223372036854775808 1 0\n")), "field 24 (rss) is out of range"));
    EXPECT_TRUE(refused(parse_stat(with(good, " 7 1 0\n", " 7x 1 0\n")), "field 24 (rss) has trailing characters"));
    EXPECT_TRUE(refused(parse_stat(with(good, " 8192 7 1 0\n", " 8192\n")), "ends before field 24 (rss)"));
    EXPECT_TRUE(refused(parse_stat(with(stat_named("a\nb"), " 8192 ", " -8192 ")), "stat line 2: field 23"));
    EXPECT_TRUE(refused(parse_stat(with(good, " 7 1 0\n", " 7 1 garbage\n")), "field 26"));
}

TEST(ParseStat, RefusesTextWithoutTheNewlineThatTheKernelPrints) {
    std::string text = golden("6.18/stat");
    text.pop_back();
    EXPECT_TRUE(refused(parse_stat(text), "cut off"));
}

TEST(ParseStat, CutAtAnyByteIsRefused) {
    for (const char *name : {"6.18/stat", "6.18/hostile.stat", "6.18/kernel_thread.stat"}) {
        std::string text = golden(name);
        for (std::size_t size = 0; size < text.size(); ++size) {
            EXPECT_TRUE(refused(parse_stat(Exact(text.substr(0, size)).view()), "stat line")) << name << " at " << size;
        }
    }
}

TEST(ParseStat, AnyByteChangedIsStillNoCrash) {
    std::string text = golden("6.18/hostile.stat");
    for (std::size_t at = 0; at < text.size(); ++at) {
        for (char byte : {'\0', '\n', ' ', '-', '(', ')', '9', '\xff'}) {
            std::string changed = text;
            changed[at] = byte;
            auto stat = parse_stat(Exact(changed).view());
            if (stat) {
                EXPECT_GE(stat->rss.n, 0);
            }
        }
    }
}

TEST(ParseStatm, ReadsSevenNumbers) {
    for (const char *kernel : {"5.10", "6.1", "6.12", "6.18", "7.x"}) {
        auto statm = parse_statm(golden(std::string(kernel) + "/statm"));
        ASSERT_TRUE(statm.ok()) << statm.error().what;
        Statm expected{{505}, {176}, {163}, {121}, {0}, {331}, {0}};
        EXPECT_EQ(tie(*statm), tie(expected)) << kernel;
    }
}

TEST(ParseStatm, RefusesWhatIsNotSevenNumbers) {
    EXPECT_TRUE(refused(parse_statm(""), "the file is empty"));
    EXPECT_TRUE(refused(parse_statm("1 2 3 4 5 6\n"), "ends before field 7 (dirty)"));
    EXPECT_TRUE(refused(parse_statm("1 2 3 4 5 6 7 8\n"), "more than seven fields"));
    EXPECT_TRUE(refused(parse_statm("1 2 3 4 5 6 7\n8\n"), "field 7 (dirty) has trailing characters"));
    EXPECT_TRUE(refused(parse_statm("1 -2 3 4 5 6 7\n"), "field 2 (resident) is not an unsigned number"));
    EXPECT_TRUE(refused(parse_statm("1  2 3 4 5 6 7\n"), "field 2 (resident)"));
    EXPECT_TRUE(refused(parse_statm("1 99999999999999999999 3 4 5 6 7\n"), "field 2 (resident) is out of range"));
}

TEST(ParseStatm, CutAtAnyByteIsRefused) {
    std::string text = golden("6.18/statm");
    for (std::size_t size = 0; size < text.size(); ++size) {
        EXPECT_TRUE(refused(parse_statm(Exact(text.substr(0, size)).view()), "statm line 1")) << size;
    }
}

}  // namespace
}  // namespace rsslag::procfs
