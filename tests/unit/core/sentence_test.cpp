// SPDX-License-Identifier: BSD-2-Clause
#include "core/sentence.h"

#include <gtest/gtest.h>

#include "readings.h"

namespace rsslag::core::sentence_test {
namespace {

using test::kPageSize;
using test::members;

constexpr Calibration kOld{Truth::Flushed, Truth::Flushed, Truth::Flushed};
constexpr Calibration kFixed{Truth::Flushed, Truth::Exact, Truth::Exact};
constexpr Calibration kNotCalibrated{};

Machine machine(Scheme scheme, int cpus = 2) {
    return {scheme, kPageSize, cpus, cpus};
}

/// A process whose `cachers` cache `cached` pages of ANON, read by stat as the kernel does.
Finding finding(const Machine &machine, std::int64_t flushed, std::int64_t cached, std::size_t cachers) {
    Finding finding;
    finding.pid = 4711;
    finding.flushed = members(0, flushed);
    finding.cached = members(0, cached);
    finding.exact_rss = {flushed + cached};
    finding.stat = clamped_rss(finding.flushed);
    finding.cachers = cachers;
    finding.bound = bound(machine, static_cast<std::int64_t>(cachers));
    finding.verdict = Verdict::Agrees;
    return finding;
}

bool contains(const std::string &text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

TEST(Sentence, IsTheSpecificationsForTheClassicHundredThreads) {
    const Machine thread = machine(Scheme::Thread);
    const Finding classic = finding(thread, 19'991, 6'072, 101);
    ASSERT_EQ(kPageSize.kb(*classic.stat), Kilobytes{79'964});
    ASSERT_EQ(kPageSize.kb(classic.exact_rss), Kilobytes{104'252});
    ASSERT_EQ(kPageSize.kb(*behind(classic)), Kilobytes{24'288});
    EXPECT_EQ(sentence(classic, thread, kOld, as_kb),
              "/proc/4711/stat says 79,964 kB, and so do ps, top and htop; this process holds 104,252 kB: 24,288 kB "
              "(23.3 %) is cached in 101 threads, 94 % of the soft bound.");
}

TEST(Sentence, IsTheSpecificationsForCpusWithTheFix) {
    const Machine cpu = machine(Scheme::Cpu, 32);
    const Finding pinned = finding(cpu, 10'329, 1'617, 32);
    ASSERT_EQ(kPageSize.kb(*pinned.stat), Kilobytes{41'316});
    ASSERT_EQ(kPageSize.kb(pinned.exact_rss), Kilobytes{47'784});
    ASSERT_EQ(kPageSize.kb(*behind(pinned)), Kilobytes{6'468});
    ASSERT_EQ(pinned.bound.rss, Pages{32 * 63 * 3});
    EXPECT_EQ(sentence(pinned, cpu, kFixed, as_kb),
              "/proc/4711/stat says 41,316 kB, this process holds 47,784 kB: 6,468 kB (13.5 %) is cached in 32 CPUs, "
              "27 % of what this scheme allows; statm and status (ps, top, htop) are exact on this kernel.");
}

/// The sentence for 10 cached pages and 90 flushed ones, without its middle, which the calibration does not change.
std::pair<std::string, std::string> around_the_numbers(const Calibration &calibration) {
    const Machine thread = machine(Scheme::Thread);
    const std::string text = sentence(finding(thread, 90, 10, 2), thread, calibration, as_pages);
    const std::string begin = "/proc/4711/stat says 90 pages";
    const std::string middle =
        " this process holds 100 pages: 10 pages (10.0 %) is cached in 2 threads, 8 % of the soft bound";
    const std::size_t at = text.find(middle);
    EXPECT_TRUE(text.starts_with(begin) && at != std::string::npos) << text;
    if (at == std::string::npos) return {};
    return {text.substr(begin.size(), at - begin.size()), text.substr(at + middle.size())};
}

TEST(SentenceByCalibration, NamesEachProgramOnlyAsItsFileLiesOrNot) {
    using Ends = std::pair<std::string, std::string>;
    const auto with = [](Truth statm, Truth status) { return around_the_numbers({Truth::Flushed, statm, status}); };
    EXPECT_EQ(with(Truth::Flushed, Truth::Flushed), (Ends{", and so do ps, top and htop;", "."}));
    EXPECT_EQ(with(Truth::Exact, Truth::Exact),
              (Ends{",", "; statm and status (ps, top, htop) are exact on this kernel."}));
    EXPECT_EQ(with(Truth::Exact, Truth::Flushed),
              (Ends{", and so does ps;", "; statm (top, htop) is exact on this kernel."}));
    EXPECT_EQ(with(Truth::Flushed, Truth::Exact),
              (Ends{", and so do top and htop;", "; status (ps) is exact on this kernel."}));
}

TEST(SentenceByCalibration, StatesThatOtherReadersAreNotCalibrated) {
    for (const Truth known : {Truth::Unknown, Truth::Flushed, Truth::Exact}) {
        for (const Calibration &calibration :
             {Calibration{Truth::Flushed, Truth::Unknown, known}, Calibration{Truth::Flushed, known, Truth::Unknown}}) {
            const auto [before, after] = around_the_numbers(calibration);
            EXPECT_EQ(before, ",");
            EXPECT_EQ(after, "; it is not known whether statm and status (ps, top, htop) lag, too.");
        }
    }
}

TEST(Sentence, CountsOneThreadAndOneCpuInTheSingular) {
    const Machine thread = machine(Scheme::Thread);
    const Machine cpu = machine(Scheme::Cpu);
    EXPECT_TRUE(contains(sentence(finding(thread, 90, 10, 1), thread, kOld, as_kb), "is cached in 1 thread, "));
    EXPECT_TRUE(contains(sentence(finding(thread, 90, 10, 2), thread, kOld, as_kb), "is cached in 2 threads, "));
    EXPECT_TRUE(contains(sentence(finding(cpu, 90, 10, 1), cpu, kOld, as_kb), "is cached in 1 CPU, "));
    EXPECT_TRUE(contains(sentence(finding(cpu, 90, 10, 2), cpu, kOld, as_kb), "is cached in 2 CPUs, "));
}

TEST(Sentence, StatesOfANegativeLagThatStatCountsTooMany) {
    const Machine cpu = machine(Scheme::Cpu);
    EXPECT_EQ(sentence(finding(cpu, 100, -10, 2), cpu, kFixed, as_kb),
              "/proc/4711/stat says 400 kB, this process holds 360 kB: stat is 40 kB too high: the removal is "
              "cached in 2 CPUs; statm and status (ps, top, htop) are exact on this kernel.");
}

TEST(Sentence, StatesThatNothingIsCachedWhereThereIsNoCache) {
    const Machine thread = machine(Scheme::Thread);
    EXPECT_EQ(sentence(finding(thread, 100, 0, 0), thread, kOld, as_kb),
              "/proc/4711/stat says 400 kB, and this process holds 400 kB: nothing is cached.");
}

TEST(Sentence, StatesOfCachesThatCancelThatTheyAddUpToNothing) {
    const Machine cpu = machine(Scheme::Cpu);
    EXPECT_EQ(sentence(finding(cpu, 100, 0, 2), cpu, kFixed, as_kb),
              "/proc/4711/stat says 400 kB, and this process holds 400 kB: the amounts cached in 2 CPUs add up to 0.");
}

TEST(Sentence, MarksTheNumbersOfAMovingProcess) {
    const Machine thread = machine(Scheme::Thread);
    Finding moving = finding(thread, 90, 10, 2);
    moving.verdict = Verdict::Moving;
    const std::string text = sentence(moving, thread, kOld, as_kb);
    EXPECT_TRUE(contains(text, "holds ~400 kB: ~40 kB (10.0 %) is cached")) << text;
    for (const Verdict still : {Verdict::Agrees, Verdict::Explained, Verdict::Unexplained, Verdict::Unwalked}) {
        moving.verdict = still;
        EXPECT_FALSE(contains(sentence(moving, thread, kOld, as_kb), "~")) << name(still);
    }
}

TEST(Sentence, MarksAMovingProcessWithoutALagToo) {
    const Machine thread = machine(Scheme::Thread);
    Finding moving = finding(thread, 100, 0, 0);
    moving.verdict = Verdict::Moving;
    EXPECT_TRUE(contains(sentence(moving, thread, kOld, as_kb), "holds ~400 kB"));
}

TEST(Sentence, DoesNotBlameACacheThatIsEmptyForAChangeMeanwhile) {
    const Machine thread = machine(Scheme::Thread);
    Finding moving = finding(thread, 100, 0, 0);
    moving.verdict = Verdict::Moving;
    moving.stat = Pages{60};
    EXPECT_EQ(sentence(moving, thread, kOld, as_kb),
              "/proc/4711/stat says 240 kB, and this process holds ~400 kB: it changed while it was read.");
}

TEST(Sentence, NeverBlamesTheCacheForAStatThatIsNeitherFlushedNorExact) {
    const Machine thread = machine(Scheme::Thread);
    for (const Verdict verdict : {Verdict::Agrees, Verdict::Explained, Verdict::Unexplained, Verdict::Unwalked}) {
        Finding odd = finding(thread, 90, 10, 2);
        odd.stat = Pages{95};
        odd.verdict = verdict;
        EXPECT_EQ(
            sentence(odd, thread, kOld, as_kb),
            "/proc/4711/stat says 380 kB, and this process holds 400 kB: stat shows neither what is flushed (360 kB) "
            "nor what is exact.");
    }
}

TEST(Sentence, AllowsForStatClampingANegativeMember) {
    const Machine cpu = machine(Scheme::Cpu);
    Finding negative = finding(cpu, 90, 10, 2);
    negative.flushed = members(-5, 90);
    negative.cached = members(8, 10);
    negative.exact_rss = {103};
    negative.stat = Pages{90};
    const std::string text = sentence(negative, cpu, kOld, as_pages);
    EXPECT_TRUE(contains(text, "13 pages (12.6 %) is cached in 2 CPUs")) << text;
}

TEST(Sentence, StatesThatStatSeesNothingOnceTheMainThreadHasEnded) {
    const Machine thread = machine(Scheme::Thread);
    Finding headless = finding(thread, 90, 10, 2);
    headless.stat = Pages{0};
    headless.leader_gone = true;
    for (const Calibration &calibration : {kOld, kNotCalibrated}) {
        EXPECT_EQ(
            sentence(headless, thread, calibration, as_kb),
            "/proc/4711/stat says 0 kB, and so do ps, top and htop; this process holds 400 kB: its main thread has "
            "ended, so that its files show no memory; 40 kB (10.0 %) is cached in 2 threads, 8 % of the soft bound.");
    }
    // The leader had not ended when stat was read.
    headless.stat = headless.flushed.rss();
    EXPECT_TRUE(contains(sentence(headless, thread, kOld, as_kb), "stat says 360 kB, and so do ps, top and htop"));
}

TEST(Sentence, ContainsOnlyWhatIsHeldWhereStatCouldNotBeRead) {
    const Machine thread = machine(Scheme::Thread);
    Finding unread = finding(thread, 90, 10, 2);
    unread.stat.reset();
    EXPECT_EQ(behind(unread), std::nullopt);
    EXPECT_EQ(sentence(unread, thread, kOld, as_kb), "this process holds 400 kB.");
}

TEST(Sentence, NamesNoBoundWhereThereIsNone) {
    const Machine plain = machine(Scheme::Plain);
    EXPECT_FALSE(contains(sentence(finding(plain, 90, 10, 1), plain, kNotCalibrated, as_kb), "allows"));
}

TEST(Sentence, UsesTheRequestedUnit) {
    const Machine thread = machine(Scheme::Thread);
    const Finding classic = finding(thread, 19'991, 6'072, 101);
    EXPECT_TRUE(sentence(classic, thread, kOld, as_mib)
                    .starts_with("/proc/4711/stat says 78.1 MiB, and so do ps, top and htop; this process holds 101.8 "
                                 "MiB: 23.7 MiB (23.3 %)"));
    EXPECT_TRUE(contains(sentence(classic, thread, kOld, as_pages), "holds 26,063 pages: 6,072 pages (23.3 %)"));
}

TEST(Lag, IsExactLessStatAndSigned) {
    const Machine cpu = machine(Scheme::Cpu);
    EXPECT_EQ(behind(finding(cpu, 90, 10, 1)), Pages{10});
    EXPECT_EQ(behind(finding(cpu, 100, -10, 1)), Pages{-10});
}

TEST(Units, PrintWithThousandsAndTheirName) {
    EXPECT_EQ(as_kb({19'991}, kPageSize), "79,964 kB");
    EXPECT_EQ(as_kb({-6}, kPageSize), "-24 kB");
    EXPECT_EQ(as_kb({3}, PageSize{65536}), "192 kB");
    EXPECT_EQ(as_mib({256}, kPageSize), "1.0 MiB");
    EXPECT_EQ(as_mib({-384}, kPageSize), "-1.5 MiB");
    EXPECT_EQ(as_mib({256 * 12'345}, kPageSize), "12,345.0 MiB");
    EXPECT_EQ(as_gib({262'144 * 3 / 2}, kPageSize), "1.5 GiB");
    EXPECT_EQ(as_pages({6'072}, kPageSize), "6,072 pages");
    EXPECT_EQ(as_pages({1}, kPageSize), "1 page");
    EXPECT_EQ(as_pages({-1}, kPageSize), "-1 pages");
    EXPECT_EQ(as_pages({0}, kPageSize), "0 pages");
}

TEST(Units, RoundToATenthAndNeverPrintAMinusZero) {
    EXPECT_EQ(as_mib({255}, kPageSize), "1.0 MiB");
    EXPECT_EQ(as_mib({-1}, kPageSize), "0.0 MiB");
    EXPECT_EQ(as_gib({1}, kPageSize), "0.0 GiB");
}

}  // namespace
}  // namespace rsslag::core::sentence_test
