// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include "documents.h"
#include "expected.h"
#include "golden.h"

namespace rsslag::documents {
namespace {

using test::bare_document;
using test::contains;
using test::cpu_document;
using test::is_ascii;
using test::is_golden;
using test::members;
using test::thread_document;

std::string text_of(const SnapshotDocument &document, const TextStyle &style = {}) {
    return snapshot_text(document, document.processes.at(0), style);
}

TextStyle style_in(core::PagesText pages, const std::string &unit) {
    TextStyle style;
    style.pages = pages;
    style.unit = unit;
    return style;
}

std::string line(const std::string &text, int number) {
    std::size_t begin = 0;
    for (; number > 1; --number)
        begin = text.find('\n', begin) + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(SnapshotText, ShowsThreadsThatCache) {
    EXPECT_TRUE(is_golden(text_of(thread_document()), "thread.txt"));
}

TEST(SnapshotText, ShowsCpusThatCache) {
    EXPECT_TRUE(is_golden(text_of(cpu_document()), "cpu.txt"));
}

TEST(SnapshotText, ShowsWhatLittleCouldBeRead) {
    SnapshotDocument document = bare_document();
    document.processes[0].tasks[0].tid = 4711;
    EXPECT_TRUE(is_golden(text_of(document), "bare.txt"));
}

TEST(SnapshotText, IsAsciiWhereTheLocaleIs) {
    TextStyle style;
    style.utf8 = false;
    style.cachers = 2;
    const std::string text = text_of(thread_document(), style);
    EXPECT_TRUE(is_golden(text, "thread_ascii.txt"));
    EXPECT_TRUE(is_ascii(text));
    EXPECT_TRUE(is_ascii(text_of(cpu_document(), style)));
    EXPECT_TRUE(is_ascii(text_of(bare_document(), style)));
}

TEST(SnapshotText, NeverLetsAHostileNameThrough) {
    SnapshotDocument document = thread_document();
    document.processes[0].comm = "x\x1b[2J\n\u202E\xff";
    const std::string text = text_of(document);
    EXPECT_TRUE(contains(text, "x\\x1b[2J\\x0a\\xe2\\x80\\xae\\xff [4711]")) << text;
    EXPECT_FALSE(contains(text, "\x1b"));
    EXPECT_FALSE(contains(text, "\u202E"));
}

TEST(SnapshotText, IsInEveryUnit) {
    EXPECT_TRUE(is_golden(text_of(cpu_document(), style_in(core::as_mib, "MiB")), "cpu_mib.txt"));
    EXPECT_TRUE(is_golden(text_of(cpu_document(), style_in(core::as_gib, "GiB")), "cpu_gib.txt"));
    EXPECT_TRUE(is_golden(text_of(cpu_document(), style_in(core::as_pages, "pages")), "cpu_pages.txt"));
}

TEST(SnapshotText, SumsUpTheCachersThatHaveNoRow) {
    TextStyle style;
    style.cachers = 1;
    const std::string text = text_of(thread_document(), style);
    EXPECT_TRUE(contains(text, "\u22ee 3 more cache 248 kB together (--all lists them)\n")) << text;
    EXPECT_TRUE(contains(text, "4712"));  // 60 pages, like 4715, and first of the two
    EXPECT_FALSE(contains(text, "4715"));
    style.cachers = 4;
    EXPECT_FALSE(contains(text_of(thread_document(), style), "more cache"));
    style.cachers = static_cast<std::size_t>(-1);
    EXPECT_FALSE(contains(text_of(thread_document(), style), "more cache"));
}

TEST(SnapshotText, ListsTheLargestCacherFirstWhateverItsSign) {
    SnapshotDocument document = cpu_document();
    document.processes[0].cpus = {{0, members(0, 3)}, {1, members(0, -31)}, {2, members(0, 5)}};
    const std::string text = text_of(document);
    const std::size_t one = text.find("\n       1 ");
    const std::size_t two = text.find("\n       2 ");
    const std::size_t zero = text.find("\n       0 ");
    ASSERT_NE(one, std::string::npos) << text;
    EXPECT_LT(one, two);
    EXPECT_LT(two, zero);
    EXPECT_NE(zero, std::string::npos);
}

TEST(SnapshotText, ListsNoThreadIfNothingIsCached) {
    SnapshotDocument document = cpu_document();
    document.processes[0].cpus.clear();
    document.processes[0].verdict.cached = {};
    document.processes[0].verdict.exact = document.processes[0].verdict.flushed;
    const std::string text = text_of(document);
    EXPECT_FALSE(contains(text, "CPU "));
    EXPECT_TRUE(contains(text, "nothing is cached")) << text;
}

TEST(SnapshotText, SaysWhoElseHasTheMemoryAndWhatRssDoesNotCount) {
    SnapshotDocument document = thread_document();
    EXPECT_FALSE(contains(text_of(document), "share one memory"));
    EXPECT_FALSE(contains(text_of(document), "hugetlb"));
    document.processes[0].mm_pids = {4711, 4712};
    document.processes[0].hugetlb = core::Kilobytes{4096};
    const std::string text = text_of(document);
    EXPECT_TRUE(text.ends_with("\n\n4711 and 4712 share one memory: each row shows all of it\n")) << text;
    EXPECT_TRUE(contains(text, "\nhugetlb pages hold 4,096 kB more, which RSS does not count\n")) << text;
    document.processes[0].hugetlb = core::Kilobytes{0};
    EXPECT_FALSE(contains(text_of(document), "hugetlb"));
}

TEST(SharedLine, NamesAFewAndCountsTheRest) {
    EXPECT_EQ(shared_line({}), "");
    EXPECT_EQ(shared_line({1}), "");
    EXPECT_EQ(shared_line({1, 2}, true), "1 and 2 share one memory: it is counted once\n") << "in a sum";
    EXPECT_EQ(shared_line({1, 2, 3}), "1, 2 and 3 share one memory: each row shows all of it\n");
    EXPECT_EQ(shared_line({1, 2, 3, 4, 5, 6, 7, 8}),
              "1, 2, 3, 4, 5, 6, 7 and 8 share one memory: each row shows all of it\n");
    EXPECT_EQ(shared_line({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}),
              "1, 2, 3, 4, 5, 6, 7, 8 and 2 more share one memory: each row shows all of it\n");
}

TEST(SnapshotText, StartsWithTheSentence) {
    const SnapshotDocument document = thread_document();
    const std::string sentence =
        core::sentence(document.processes[0].finding(), document.machine, document.calibration, core::as_kb);
    EXPECT_EQ(line(text_of(document), 1), sentence);
}

/// The second line of the thread document after `change` was applied to its verdict.
template <class Change>
std::string verdict_line(Change change) {
    SnapshotDocument document = thread_document();
    change(document.processes[0]);
    return line(text_of(document), 2);
}

TEST(VerdictLine, NamesTheFileThatAgrees) {
    EXPECT_EQ(verdict_line([](ProcessReading &) {}), "AGREES with smaps_rollup, residual 0 pages");
    EXPECT_EQ(verdict_line([](ProcessReading &process) { process.walk->file = core::WalkFile::Smaps; }),
              "AGREES with smaps, residual 0 pages");
}

TEST(VerdictLine, ShowsTheWindowOfAMovingProcess) {
    const auto moving = [](std::int64_t residual) {
        return verdict_line([residual](ProcessReading &process) {
            process.verdict.verdict = core::Verdict::Moving;
            process.verdict.window = {{20'000}, {20'113}};
            process.verdict.residual = core::Pages{residual};
        });
    };
    EXPECT_EQ(moving(0), "MOVING, inside its window: smaps_rollup saw 80,452 kB, exact was 80,000 kB to 80,452 kB");
    EXPECT_EQ(moving(-12),
              "MOVING, -12 pages outside its window: smaps_rollup saw 80,452 kB, exact was 80,000 kB to 80,452 kB");
}

TEST(VerdictLine, NamesEachCauseWithItsPages) {
    EXPECT_EQ(verdict_line([](ProcessReading &process) {
                  process.verdict.verdict = core::Verdict::Explained;
                  process.verdict.residual = core::Pages{-1'234};
                  process.verdict.causes = {{core::Cause::ExecArguments, {-34}}, {core::Cause::InFlight, {-1'200}}};
              }),
              "EXPLAINED: smaps_rollup saw 80,452 kB, residual -1,234 pages, exec_arguments -34, in_flight -1,200");
}

TEST(VerdictLine, NeverHidesWhatIsUnexplained) {
    EXPECT_EQ(verdict_line([](ProcessReading &process) {
                  process.verdict.verdict = core::Verdict::Unexplained;
                  process.verdict.residual = core::Pages{5};
                  process.verdict.causes = {{core::Cause::Hwpoison, {3}}, {core::Cause::Unexplained, {2}}};
              }),
              "UNEXPLAINED: smaps_rollup saw 80,452 kB, residual 5 pages, hwpoison 3, unexplained 2");
}

TEST(VerdictLine, SaysWhyNothingWasWalked) {
    for (const core::WalkState state :
         {core::WalkState::Skipped, core::WalkState::Denied, core::WalkState::Gone, core::WalkState::Unsupported}) {
        const std::string said = verdict_line([state](ProcessReading &process) {
            process.walk.reset();
            process.walk_state = state;
            process.verdict.verdict = core::Verdict::Unwalked;
            process.verdict.residual.reset();
        });
        EXPECT_TRUE(said.starts_with("UNWALKED (" + std::string(core::name(state)) + ")")) << said;
    }
}

}  // namespace
}  // namespace rsslag::documents
