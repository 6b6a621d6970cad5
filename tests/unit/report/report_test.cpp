// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "../paths.h"
#include "report/peak.h"
#include "report/report_builder.h"
#include "report/report_parts.h"
#include "rows.h"

namespace rsslag::report {
namespace {

using core::Pages;
using exporters::test::kSecond;
using exporters::test::recorded;
using nlohmann::ordered_json;

Report report_of(const exporters::test::Recorded &all) {
    ReportBuilder builder;
    EXPECT_TRUE(all.into(builder).ok());
    return builder.take();
}

std::string json_text(const Report &report) {
    std::string all;
    EXPECT_TRUE(report_json(report, [&all](std::string_view text) { return all += text, core::success(); }));
    return all;
}

exporters::test::Recorded with_rows(std::vector<exporters::Row> rows) {
    exporters::test::Recorded all;
    all.head = exporters::test::facts();
    all.rows = std::move(rows);
    return all;
}

/// The same without losses.
exporters::test::Recorded whole(exporters::test::Recorded all) {
    all.ending.lost = 0;
    all.ending.lost_by.clear();
    return all;
}

TEST(Report, CountsRecordsAndRowsApart) {
    const exporters::test::Recorded all = recorded();
    const Report report = report_of(all);
    EXPECT_EQ(report.records, 12U);
    EXPECT_EQ(report.row_count(), all.rows.size());
    EXPECT_EQ(report.rows.at("tick"), 4U);
    EXPECT_EQ(report.rows.at("flush"), 1U);
    EXPECT_EQ(report.rows.at("thread_start"), 1U);
    EXPECT_EQ(report.rows.count("unknown"), 0U);
}

/// A process that has run very many programs, and an output that fails.
TEST(Report, IsWrittenInPieces) {
    Report report = report_of(recorded());
    ASSERT_FALSE(report.processes.empty());
    exporters::ImageGrowth image;
    image.comm = "program";
    report.processes.front().images.assign(5'000, image);
    std::size_t largest = 0;
    std::string all;
    EXPECT_TRUE(report_json(report, [&](std::string_view text) {
        largest = std::max(largest, text.size());
        all += text;
        return core::success();
    }));
    EXPECT_LT(largest, 2 * exporters::kFullBuffer);
    EXPECT_EQ(ordered_json::parse(all).at("processes").at(0).at("images").size(), 5'000U);
    int calls = 0;
    EXPECT_FALSE(report_json(report, [&calls](std::string_view) {
        ++calls;
        return core::Status(core::Error{core::Kind::Io, "cannot write", 28, ""});
    }));
    EXPECT_EQ(calls, 1);
}

TEST(Report, NamesThePeakLag) {
    for (const core::Scheme scheme : {core::Scheme::Thread, core::Scheme::Cpu}) {
        const Report report = report_of(recorded(scheme));
        ASSERT_TRUE(report.peak_lag);
        EXPECT_EQ(report.peak_lag->pages, Pages{60});
        EXPECT_EQ(report.peak_lag->t_ns, 4 * kSecond);
        EXPECT_EQ(report.peak_lag->pid, 10);
        EXPECT_FALSE(report.peak_lag->approximate);
    }
}

TEST(Report, SaysThatAPeakLagIsAboveTheSoftBound) {
    exporters::test::Recorded all = with_rows({exporters::test::tick(kSecond, 10, 100'000, 10)});
    all.head.machine.scheme = core::Scheme::Thread;
    const std::string text = report_text(report_of(all), {});
    EXPECT_NE(text.find(" in hundred [10]; above the soft bound of the thread scheme: "), std::string::npos) << text;
    all = with_rows({exporters::test::tick(kSecond, 10, 100, 90)});
    all.head.machine.scheme = core::Scheme::Thread;
    EXPECT_EQ(report_text(report_of(all), {}).find("above the"), std::string::npos);
}

TEST(Report, ShowsTheLargestOfManyProcesses) {
    std::vector<exporters::Row> rows;
    for (int i = 0; i < 12; ++i)  // the fourth and the ninth are smaller than all others
        rows.emplace_back(exporters::test::tick(kSecond, 1000 + i, i % 5 == 3 ? 50 : 100 + i, 40));
    const Report report = report_of(whole(with_rows(rows)));
    const std::string text = report_text(report, {});
    std::size_t last = 0;
    for (int i = 0; i < 12; ++i) {
        const std::size_t at = text.find(fmt::format("\nhundred [{}] ", 1000 + i));
        EXPECT_EQ(at != std::string::npos, i % 5 != 3) << i << text;
        if (at == std::string::npos) continue;
        EXPECT_GT(at, last) << "in the order of their first rows";
        last = at;
    }
    EXPECT_NE(text.find("\nand 2 more processes, none with a larger peak; --all shows them\n"), std::string::npos)
        << text;
    ReportStyle all;
    all.processes = SIZE_MAX;
    EXPECT_NE(report_text(report, all).find("\nhundred [1003] "), std::string::npos);
    EXPECT_EQ(report_text(report, all).find("more process"), std::string::npos);
}

exporters::TickRow lossy_tick() {
    exporters::TickRow row = exporters::test::tick(2 * kSecond, 10, 200, 100);
    row.extremes.lossy = true;
    row.walk.emplace();
    row.residual = Pages{0};
    return row;
}

TEST(Report, MarksTheColumnsThatLostRecordsWouldHaveChanged) {
    for (const bool lossy : {false, true}) {
        Report report = report_of(with_rows({exporters::test::tick(2 * kSecond, 10, 200, 100)}));
        ReportProcess &process = report.processes.at(0);
        process.extremes.lossy = lossy;
        process.threads.resize(1);
        process.growth = {{0x1000, 0x2000, Pages{7}, 7}};
        for (const bool names : {false, true}) {
            report.names = names;
            process.images.resize(1);
            process.images[0].approximate = process.images[0].parts_approximate = lossy;
            for (const std::string &text : {report_text(report, {}), report_html(report)}) {
                for (const char *const heading : {"UPDATES", "FLUSHES", "CAME BY FAULT"}) {
                    for (std::size_t at = text.find(heading); at != std::string::npos; at = text.find(heading, at + 1))
                        EXPECT_EQ(text.at(at - 1) == '~', lossy) << heading << "\n" << text;
                }
                EXPECT_NE(text.find("FLUSHES"), std::string::npos);
            }
            EXPECT_EQ(report_text(report, {}).find("CAME BY FAULT") != std::string::npos, names);
        }
    }
}

TEST(Report, SaysAfterALossThatItMayHaveBeenMore) {
    const Report report = report_of(with_rows({lossy_tick()}));
    ASSERT_TRUE(report.peak_lag);
    EXPECT_TRUE(report.peak_lag->approximate);
    EXPECT_NE(report_text(report, {}).find("peak lag ~400 kB at 2.000 s"), std::string::npos);
    EXPECT_NE(report_text(report, {}).find("at least 800 kB"), std::string::npos);
    const auto json = ordered_json::parse(json_text(report));
    EXPECT_EQ(json.at("peak_lag").at("approximate"), true);
    EXPECT_EQ(json.at("processes").at(0).at("peak").at("lossy"), true);
    EXPECT_NE(report_svg(report).find("peak lag ~400 kB"), std::string::npos);
    EXPECT_EQ(json.at("processes").at(0).at("extremes_approximate"), true);
    const std::string text = report_text(report, {});
    for (const char *part : {"by member at most file ~0 kB, anon ~0 kB, shmem ~0 kB\n",
                             "lowest ~800 kB at 2.000 s: by member file ~0 kB, anon ~0 kB, shmem ~0 kB\n",
                             "cached at most file ~0 kB, anon ~0 kB, shmem ~0 kB\n", "residual ~0 kB in "})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

std::vector<std::string> result(const Report &report, const std::string &text) {
    std::vector<std::string> result;
    const auto claims = parse_claims(text);
    EXPECT_TRUE(claims.ok());
    for (const ClaimResult &each : evaluate(*claims, report))
        result.push_back((each.holds ? "yes: " : "no: ") + each.text);
    return result;
}

TEST(Report, HoldsNothingThatIsNotKnown) {
    exporters::TickRow range = exporters::test::tick(kSecond, 10, 200, 100);
    range.extremes.most.from = Pages{150};
    using Texts = std::vector<std::string>;
    const Report open = report_of(with_rows({range}));
    EXPECT_EQ(result(open, "peak_rss<700kB"), Texts{"no: peak_rss is 600 kB to 800 kB, not known to be < 700 kB"});
    EXPECT_EQ(result(open, "peak_rss>700kB"), Texts{"no: peak_rss is 600 kB to 800 kB, not known to be > 700 kB"});
    EXPECT_EQ(result(open, "peak_rss<500kB"), Texts{"no: peak_rss 600 kB to 800 kB >= 500 kB, by 100 kB"});
    EXPECT_EQ(result(open, "peak_rss<900kB"), Texts{"yes: peak_rss 600 kB to 800 kB < 900 kB"});
    const Report lossy = report_of(with_rows({lossy_tick()}));
    EXPECT_EQ(result(lossy, "peak_rss<1GiB"), Texts{"no: peak_rss is at least 800 kB, not known to be < 1 GiB"});
    EXPECT_EQ(result(lossy, "peak_rss>700kB"), Texts{"yes: peak_rss at least 800 kB > 700 kB"});
    EXPECT_TRUE(result(lossy, "growth<1GiB").at(0).starts_with("no: growth is ~"));
    EXPECT_TRUE(result(lossy, "growth>=0kB").at(0).starts_with("no: growth is ~"));
    EXPECT_EQ(result(report_of(with_rows({})), "unexplained==0"), Texts{"no: unexplained is not known, must be == 0"});
}

TEST(Report, KnowsNoPeakOfWhatWasCachedInCountsMode) {
    exporters::TickRow summed = exporters::test::tick(kSecond, 10, 1'000, 900);
    summed.extremes.summed = true;
    exporters::TickRow other = exporters::test::tick(kSecond, 20, 1'000, 800);
    const Report report = report_of(with_rows({summed, other}));
    using Texts = std::vector<std::string>;
    EXPECT_EQ(result(report, "peak_lag<1GiB"),
              Texts{"no: peak_lag is ~800 kB (--mode counts records sums, in which opposite "
                    "changes cancel), not known to be < 1 GiB, in hundred [20]"});
    for (const char *text : {"peak_lag>=0kB", "peak_cached<1GiB", "peak_cached>=0kB", "lag%<100", "lag%>=0"})
        EXPECT_FALSE(result(report, text).at(0).starts_with("yes")) << text;
    EXPECT_EQ(result(report, "peak_rss<1GiB").at(0), "yes: peak_rss 4,000 kB < 1 GiB")
        << "the peak is a range, all of which is below the limit";
    const std::string text = report_text(report, {});
    EXPECT_NE(
        text.find(
            "peak lag ~800 kB at 1.000 s in hundred [20]; above the soft bound of the thread scheme: 256 kB; --mode "
            "counts records sums, in which opposite changes cancel\n"),
        std::string::npos)
        << "the process whose sums hide changes may have had a larger lag: " << text;
    EXPECT_EQ(text.find("records were lost"), std::string::npos);
    const auto json = ordered_json::parse(json_text(report));
    EXPECT_EQ(json.at("peak_lag").at("approximate"), true);
    EXPECT_EQ(json.at("processes").at(0).at("extremes_approximate"), true);
    EXPECT_EQ(json.at("processes").at(1).at("extremes_approximate"), false);
}

TEST(Report, KnowsOnlyTheLeastOfATreeWhoseChildrenWereNotTraced) {
    Report report = report_of(whole(recorded()));
    report.ending.all.most.from = report.ending.all.most.to = Pages{200};
    report.ending.all.lossy = false;
    EXPECT_EQ(result(report, "tree.peak_rss<1MiB").at(0), "yes: tree.peak_rss 800 kB < 1 MiB");
    report.facts.follow = false;
    EXPECT_EQ(result(report, "tree.peak_rss<1MiB").at(0),
              "no: tree.peak_rss is at least 800 kB (children are traced with --follow only), not known to be < 1 MiB");
    EXPECT_EQ(result(report, "tree.peak_rss<100kB").at(0),
              "no: tree.peak_rss at least 800 kB (children are traced with --follow only) >= 100 kB, by 700 kB");
    EXPECT_TRUE(result(report, "tree.peak_rss>100kB").at(0).starts_with("yes: "));
}

TEST(Report, TakesLagAsAShareOnlyOfWhatIsNotTiny) {
    const Report tiny = report_of(with_rows({exporters::test::tick(kSecond, 10, 200, 100)}));
    EXPECT_EQ(result(tiny, "lag%<60").at(0),
              "no: lag% is not known (no process held 1 MiB at its peak lag), must be < 60 %");
    const Report large = report_of(with_rows({exporters::test::tick(kSecond, 10, 1'000, 900)}));
    EXPECT_EQ(result(large, "lag%<10.5%").at(0), "yes: lag% 10.00 % (400 kB of 4,000 kB) < 10.5 %");
}

TEST(Report, KeepsThreadsOfAProcessThatHasEnded) {
    const Report report = report_of(recorded());
    ASSERT_EQ(report.processes.size(), 2U);
    const ReportProcess &process = report.processes[0];
    EXPECT_EQ(process.pid, 10);
    EXPECT_EQ(process.state, core::State::Exited);
    EXPECT_EQ(process.final, core::Members());
    ASSERT_EQ(process.threads.size(), 2U);
    EXPECT_EQ(process.threads[0].tid, 11);
    EXPECT_EQ(process.threads[0].peak_cached, Pages{50});
    EXPECT_EQ(process.threads[0].peak_cached_t_ns, 4 * kSecond);
    EXPECT_EQ(process.sum.exited.threads, 2U);
    EXPECT_EQ(process.residual.walks, 1U);
    EXPECT_EQ(process.residual.nonzero, 1U);
    EXPECT_EQ(process.residual.min, Pages{-2});
    EXPECT_EQ(process.verdicts.at("explained"), 1U);
}

core::TaskNet task_net(int tid, std::int64_t anon, std::uint64_t updates) {
    core::TaskNet task;
    task.tid = task.host_tid = tid;
    task.tgid = 10;
    task.comm = "t" + std::to_string(tid);
    task.net = exporters::test::members(0, anon);
    task.updates = updates;
    return task;
}

/// A tick of process 10 with these threads, the threads that have ended since the last tick, and the total of ended
/// threads.
struct LedgerTick {
    core::MmView ledger;
    exporters::TickRow row;

    LedgerTick(std::uint64_t seq, std::vector<core::TaskNet> tasks, std::vector<core::TaskNet> ended,
               core::ExitedNet exited)
        : row(exporters::test::tick(seq * kSecond, 10, 0, 0)) {
        ledger.tasks = std::move(tasks);
        for (core::TaskNet &task : ended)
            ledger.ended.push_back({1, std::move(task)});
        ledger.exited = exited;
        for (const core::TaskNet &task : ledger.tasks) {
            row.exact += task.net;
            row.updates += task.updates;
        }
        row.exact += exited.net;
        row.updates += exited.updates;
        row.last = row.exact;
        row.seq = seq;
        row.ledger = &ledger;
    }
};

core::ExitedNet exited_net(std::uint64_t threads, std::int64_t anon, std::uint64_t updates) {
    core::ExitedNet exited;
    exited.threads = threads;
    exited.net = exporters::test::members(0, anon);
    exited.updates = updates;
    return exited;
}

void expect_adds_up(const ReportProcess &process) {
    core::Members net = process.sum.baseline + process.sum.exited.net + process.sum.others + process.sum.remainder;
    std::uint64_t updates = process.sum.exited.updates;
    for (const ReportThread &thread : process.threads) {
        net += thread.net;
        updates += thread.updates;
    }
    EXPECT_EQ(net, process.sum.final);
    EXPECT_EQ(updates, process.sum.updates);
    core::Members by_others = process.sum.ended_others.net;
    std::uint64_t updates_by_others = process.sum.ended_others.updates;
    for (const ReportThread &task : process.other_tasks) {
        by_others += task.net;
        updates_by_others += task.updates;
    }
    EXPECT_EQ(by_others, process.sum.others);
    EXPECT_EQ(updates_by_others, process.sum.updates_by_others);
}

TEST(Report, ListsEachThreadThatHasEnded) {
    LedgerTick first(1, {task_net(10, 5, 5), task_net(11, 100, 100)}, {}, {});
    LedgerTick last(2, {task_net(10, 6, 6)}, {task_net(11, 120, 130), task_net(12, 1024, 1024)},
                    exited_net(3, 1150, 1160));
    const Report report = report_of(with_rows({first.row, last.row}));
    const ReportProcess &process = report.processes.at(0);
    ASSERT_EQ(process.threads.size(), 3U);
    EXPECT_EQ(process.threads[0].tid, 12);
    EXPECT_TRUE(process.threads[0].ended);
    EXPECT_EQ(process.threads[1].net.anon, Pages{120}) << "the value must be that of the last tick";
    EXPECT_EQ(process.sum.exited.threads, 1U) << "one ended thread is listed by no tick";
    EXPECT_EQ(process.sum.exited.net.anon, Pages{6});
    expect_adds_up(process);
}

TEST(Report, FoldsVeryManyTasksOfOtherProcessesThatHaveEnded) {
    constexpr int kTasks = 2'600;
    std::vector<core::TaskNet> ended;
    std::int64_t pages = 0;
    for (int tid = 100; tid < 100 + kTasks; ++tid) {
        ended.push_back(task_net(tid, tid, 2));
        pages += tid;
    }
    // The view's sum of ended tasks includes those of other processes; two of them may not be listed yet.
    LedgerTick last(1, {task_net(10, 6, 6)}, ended, exited_net(0, pages + 7, 0));
    for (core::EndedTask &each : last.ledger.ended)
        each.own = false;
    last.ledger.ended_others = exited_net(kTasks + 2, pages + 7, 2 * kTasks + 3);
    last.row.updates_by_others = 2 * kTasks + 3;
    const Report report = report_of(with_rows({last.row}));
    const ReportProcess &process = report.processes.at(0);
    expect_adds_up(process);
    EXPECT_EQ(process.sum.exited.net, core::Members{});
    EXPECT_EQ(process.other_tasks.size() + process.sum.ended_others.threads, kTasks + 2U);
    EXPECT_LT(process.other_tasks.size(), static_cast<std::size_t>(kTasks));
    const std::string text = report_text(report, {});
    EXPECT_NE(text.find("by 2,592 more tasks of other processes\n"), std::string::npos) << text;
    EXPECT_NE(text.find("        5,183          -            -  by 2,592 more"), std::string::npos) << text;
    EXPECT_EQ(text.find("after the threads' ends"), std::string::npos) << text;
    const std::string html = report_html(report);
    EXPECT_NE(html.find("more tasks of other processes</td>"), std::string::npos);
    const auto json = ordered_json::parse(json_text(report)).at("processes").at(0);
    EXPECT_EQ(json.at("ended_others").at("tasks"), process.sum.ended_others.threads);
}

TEST(Report, CountsTheFlushesOfTheTeardownOnlyThere) {
    LedgerTick last(1, {task_net(10, 6, 6)}, {}, exited_net(0, -5, 10));
    last.ledger.exited.flushes = 26;
    last.ledger.teardown = exporters::test::members(0, -6);
    last.ledger.teardown_updates = 7;
    last.ledger.teardown_flushes = 24;
    const Report report = report_of(with_rows({last.row}));
    const Rest rest = rest_of(report.processes.at(0), 1);
    EXPECT_EQ(rest.updates, 3U);
    EXPECT_EQ(rest.flushes, 2U);
    const std::string text = report_text(report, {});
    EXPECT_NE(text.find("7         24            -  removed at its end"), std::string::npos) << text;
    const auto json = ordered_json::parse(json_text(report)).at("processes").at(0);
    EXPECT_EQ(json.at("teardown").at("flushes"), 24);
    EXPECT_EQ(json.at("exited").at("flushes"), 26) << "the teardown is part of it";
}

TEST(Report, HasARowForATeardownWhoseRecordsAreAllLost) {
    LedgerTick last(1, {task_net(10, 6, 6)}, {}, exited_net(0, 0, 0));
    last.ledger.teardown_uncertain = Pages{100};
    last.row.state = core::State::Exited;
    const Report ended = report_of(with_rows({last.row}));
    EXPECT_NE(report_text(ended, {}).find("removed at its end"), std::string::npos) << report_text(ended, {});
    EXPECT_NE(report_html(ended).find("removed at its end"), std::string::npos);
    last.row.state = core::State::Running;
    EXPECT_EQ(report_text(report_of(with_rows({last.row})), {}).find("removed at its end"), std::string::npos);
}

TEST(Report, FoldsVeryManyThatHaveEnded) {
    std::vector<core::TaskNet> ended;
    constexpr int kThreads = 5'000;
    std::int64_t pages = 0;
    for (int tid = 100; tid < 100 + kThreads; ++tid) {
        ended.push_back(task_net(tid, tid, 2));
        pages += tid;
    }
    LedgerTick last(1, {}, ended, exited_net(kThreads, pages, 2 * kThreads));
    const Report report = report_of(with_rows({last.row}));
    const ReportProcess &process = report.processes.at(0);
    EXPECT_LE(process.threads.size(), 2'000U);
    EXPECT_EQ(process.threads[0].net.anon, Pages{100 + kThreads - 1})
        << "the threads with the largest changes are listed";
    EXPECT_EQ(process.threads.size() + process.sum.exited.threads, kThreads);
    expect_adds_up(process);
    EXPECT_NE(report_text(report, {}).find("and 4,990 more threads that ended"), std::string::npos)
        << report_text(report, {});
}

TEST(Report, AThreadThatEndedJustBeforeALossMayBeAmongWhatWasLost) {
    LedgerTick end(1, {}, {task_net(11, 100, 100)}, exited_net(1, 100, 100));
    end.row.read = false;
    end.row.state = core::State::Exited;
    exporters::LossRow loss;
    loss.at.t_ns = 2 * kSecond;
    loss.cause = "ring_full";
    loss.records = 2;
    LedgerTick later(3, {task_net(20, 1, 1)}, {}, {});
    later.row.at.pid = 20;
    later.row.at.mm = 20;
    const Report lossy = report_of(with_rows({end.row, loss, later.row}));
    EXPECT_EQ(lossy.processes.at(0).threads.at(0).uncertain, Pages{2 * core::kMostPages});
    EXPECT_EQ(lossy.processes.at(0).sum.exited.uncertain, Pages{2 * core::kMostPages});
    const Report certain = report_of(with_rows({end.row, later.row, loss}));
    EXPECT_EQ(certain.processes.at(0).threads.at(0).uncertain, Pages{0})
        << "a reading came between its end and the loss";
}

TEST(Report, KeepsTwoProcessesWithTheSamePidApart) {
    exporters::TickRow last = exporters::test::tick(2 * kSecond, 10, 0, 0);
    last.state = core::State::Exited;
    last.extremes = exporters::test::tick(kSecond, 10, 50, 40).extremes;
    const Report report = report_of(
        with_rows({exporters::test::tick(kSecond, 10, 50, 40), last, exporters::test::tick(3 * kSecond, 10, 7, 5)}));
    ASSERT_EQ(report.processes.size(), 2U);
    EXPECT_EQ(report.processes[0].peak_lag->pages, Pages{10});
    EXPECT_EQ(report.processes[1].peak_lag->pages, Pages{2});
    EXPECT_EQ(report.processes[1].state, core::State::Running);
}

TEST(Report, ThinsPointsOutButKeepsThePeak) {
    std::vector<exporters::Row> rows;
    constexpr std::uint64_t kTicks = 20'000;
    for (std::uint64_t i = 0; i < kTicks; ++i)
        rows.emplace_back(exporters::test::tick(i, 10, i == 13'333 ? 999 : 10, 5));
    const Report report = report_of(with_rows(rows));
    const std::vector<LagPoint> &points = report.processes.at(0).points;
    EXPECT_LE(points.size(), 4096U);
    EXPECT_GT(points.size(), 1024U);
    const auto peak = std::max_element(points.begin(), points.end(),
                                       [](const LagPoint &a, const LagPoint &b) { return *a.lag < *b.lag; });
    EXPECT_EQ(peak->t_ns, 13'333U);
    EXPECT_EQ(*peak->lag, Pages{994});
    EXPECT_TRUE(std::is_sorted(points.begin(), points.end(),
                               [](const LagPoint &a, const LagPoint &b) { return a.t_ns < b.t_ns; }));
}

TEST(Report, SumsGrowthUpByRangesOfAddresses) {
    std::vector<exporters::Row> rows;
    const auto faulted = [&](std::uint64_t address, std::int64_t pages) {
        exporters::UpdateRow row = exporters::test::update(rows.size(), 10, 10, core::Member::Anon, pages);
        row.fault = exporters::FaultCause{false, address};
        rows.emplace_back(row);
    };
    for (std::uint64_t i = 0; i < 1000; ++i)
        faulted(0x500000000000 + i * 4096, 1);
    faulted(0x7ffc00000010, 2);
    faulted(0x7ffc00200010, -1);
    rows.emplace_back(exporters::test::tick(kSecond, 10, 5, 5));
    const Report report = report_of(with_rows(rows));
    const std::vector<Growth> &growth = report.processes.at(0).growth;
    ASSERT_EQ(growth.size(), 2U);
    EXPECT_EQ(growth[0].from, 0x500000000000U);
    EXPECT_EQ(growth[0].to, 0x500000000000U + 1000 * 4096);
    EXPECT_EQ(growth[0].pages, Pages{1000});
    EXPECT_EQ(growth[1].from, 0x7ffc00000000U);
    EXPECT_EQ(growth[1].pages, Pages{1});
    EXPECT_EQ(growth[1].updates, 2U);
}

TEST(Report, WithoutAReadingHasNoPeak) {
    const Report report = report_of(with_rows({exporters::test::update(1, 10, 10, core::Member::Anon, 1)}));
    EXPECT_FALSE(report.peak_lag);
    EXPECT_TRUE(report.processes.empty());
    EXPECT_EQ(ordered_json::parse(json_text(report)).at("peak_lag"), nullptr);
    EXPECT_NE(report_text(report, {}).find("not known"), std::string::npos);
}

/// Every object of the document has exactly the keys that the schema names.
void expect_keys(const ordered_json &document, const ordered_json &schema, const ordered_json &whole,
                 const std::string &where) {
    if (schema.contains("$ref")) {
        const ordered_json::json_pointer at(schema["$ref"].get<std::string>().substr(1));
        return expect_keys(document, whole.at(at), whole, where);
    }
    if (schema.contains("oneOf") && document.is_object())
        return expect_keys(document, schema["oneOf"].back(), whole, where);
    if (document.is_array()) {
        for (const ordered_json &each : document)
            expect_keys(each, schema.at("items"), whole, where + "[]");
        return;
    }
    if (!document.is_object() || !schema.contains("properties")) return;
    std::vector<std::string> keys;
    for (const auto &item : document.items())
        keys.push_back(item.key());
    std::vector<std::string> named = schema.at("required").get<std::vector<std::string>>();
    EXPECT_EQ(keys, named) << where;
    // A later kernel may have more counters.
    const bool by_member = schema["properties"].contains("shmem");
    const ordered_json &others = schema.at("additionalProperties");
    EXPECT_TRUE(by_member ? others.is_object() : others == false) << where;
    for (const auto &item : document.items())
        expect_keys(item.value(), schema.at("properties").at(item.key()), whole, where + "." + item.key());
}

ordered_json schema(const std::string &name) {
    std::ifstream file(source_path("docs/schema/") + name + ".schema.json");
    return ordered_json::parse(file);
}

TEST(ReportJson, HasTheKeysOfItsSchema) {
    for (const core::Scheme scheme : {core::Scheme::Thread, core::Scheme::Cpu}) {
        exporters::test::Recorded all = recorded(scheme);
        all.ending.complete = false;
        all.ending.missing = {{"chunk 3 is damaged", 1, 2, 17}, {"the end was never written", 2, 3, std::nullopt}};
        const ordered_json document = ordered_json::parse(json_text(report_of(all)));
        expect_keys(document, schema("report"), schema("report"), "");
        EXPECT_EQ(document.at("missing").at(0).at("records"), 17);
        EXPECT_EQ(document.at("missing").at(1).at("records"), nullptr);
        EXPECT_EQ(document.at("complete"), false);
        EXPECT_EQ(document.at("processes").at(0).at("verdicts").at("moving"), 0);
    }
}

/// Many processes that end, as a build runs them. The second one held most, and lagged least.
TEST(Report, KeepsTheLargestOfManyProcessesThatHaveEnded) {
    constexpr int kMany = 5'000;
    constexpr std::int64_t kMost = 1'000'000;
    ReportBuilder builder;
    ASSERT_TRUE(builder.begin(exporters::test::facts()));
    for (int i = 1; i <= kMany; ++i) {
        const auto t_ns = static_cast<std::uint64_t>(i);
        exporters::TickRow row = exporters::test::tick(t_ns, i, i == 2 ? kMost : 1000 + i, i == 2 ? kMost : 1000);
        ASSERT_TRUE(builder.row(row));
        row.state = core::State::Exited;
        ASSERT_TRUE(builder.row(row));
    }
    ASSERT_TRUE(builder.row(exporters::test::tick(kMany + 1, kMany + 1, 1000, 1000)));
    ASSERT_TRUE(builder.end({}));
    const Report report = builder.take();
    ASSERT_EQ(report.processes.size(), kMostEndedProcesses + 1);
    EXPECT_EQ(report.left_out_processes, kMany - kMostEndedProcesses);
    EXPECT_EQ(report.processes[0].pid, 1) << "it is the first";
    EXPECT_EQ(report.processes[1].pid, 2) << "it has the largest peak";
    EXPECT_EQ(report.processes[kMostEndedProcesses - 1].pid, kMany) << "it has the largest lag";
    EXPECT_EQ(report.processes.back().state, core::State::Running);
    ASSERT_TRUE(report.peak_lag);
    EXPECT_EQ(report.peak_lag->pages, Pages{kMany});
    for (const Figure &figure : figures(report)) {
        if (figure.name == "processes") {
            EXPECT_EQ(figure.value, kMany + 1);
        } else if (figure.name == "peak_rss") {
            EXPECT_EQ(figure.value, kMost);
        }
    }
    const ordered_json document = ordered_json::parse(json_text(report));
    EXPECT_EQ(document.at("processes").size(), kMostEndedProcesses + 1);
    EXPECT_EQ(document.at("processes_left_out").at("processes"), kMany - kMostEndedProcesses);
    EXPECT_NE(report_text(report, {}).find("3,000 more processes ended"), std::string::npos);
}

TEST(Report, BoundsTheChartsOfAllProcessesThatHaveEnded) {
    constexpr int kMany = 600;
    constexpr std::uint64_t kTicks = 500;
    ReportBuilder builder;
    ASSERT_TRUE(builder.begin(exporters::test::facts()));
    for (int i = 1; i <= kMany; ++i) {
        for (std::uint64_t t = 1; t <= kTicks; ++t) {
            exporters::TickRow row = exporters::test::tick(t * kSecond, i, 1000, 900);
            if (t == kTicks) row.state = core::State::Exited;
            ASSERT_TRUE(builder.row(row));
        }
    }
    ASSERT_TRUE(builder.end({}));
    std::size_t kept = 0;
    const Report report = builder.take();
    for (const ReportProcess &process : report.processes) {
        EXPECT_GE(process.points.size(), process.pid == 1 ? kTicks : 50);
        EXPECT_GE(process.course.size(), process.pid == 1 ? kTicks : 50);
        kept += process.points.size() + process.course.size();
    }
    EXPECT_LE(kept, 300'000U);
}

TEST(ReportJson, TheDifferenceHasTheKeysOfItsSchema) {
    const Report before = report_of(whole(recorded()));
    const Report after = report_of(with_rows({exporters::test::tick(1, 10, 100, 90)}));
    const ordered_json document = ordered_json::parse(diff_json(before, after));
    expect_keys(document, schema("report-diff"), schema("report-diff"), "");
    EXPECT_EQ(document.at("before").at("peak_lag"), 60);
    EXPECT_EQ(document.at("change").at("peak_lag"), -50);
    EXPECT_EQ(document.at("change").at("residual"), nullptr) << "the second recording has no walk";
}

TEST(ReportText, ShowsTheWholeReport) {
    const std::string text = report_text(report_of(recorded()), {});
    for (const char *part :
         {"on Linux 6.1.0-rsslag x86_64: thread scheme", "12 records: at least 3 updates", "lost 3 of 15: 3 ring_full",
          "flush reasons (at least): 1 threshold", "the recording is complete",
          "peak lag 240 kB at 4.000 s in hundred [10]", "residual \u22128 kB to \u22128 kB, not 0 in 1 of 1 walk",
          "lag over time", "\u2588", "hundred [10] exited: rss from 0 kB to 0 kB, at most 640 kB at 4.000 s"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(ReportText, NamesProcessesThatShareOneMemory) {
    const auto in_mm = [](int pid, std::uint64_t mm, int image = 1) {
        exporters::TickRow row = exporters::test::tick(kSecond, pid, 10, 5);
        row.at.mm = mm;
        row.extremes.image = image;
        return row;
    };
    // 40 is still the copy of 10 that vfork made.
    const Report report = report_of(with_rows({in_mm(10, 7), in_mm(20, 7), in_mm(30, 8), in_mm(40, 7, 0)}));
    EXPECT_TRUE(report_text(report, {}).ends_with("\n\n10 and 20 share one memory: each row shows all of it\n"))
        << report_text(report, {});
    EXPECT_NE(report_html(report).find("10 and 20 share one memory: it is counted once\n"), std::string::npos)
        << "its figures include the tree peak";
    const Report apart = report_of(with_rows({in_mm(10, 7), in_mm(30, 8)}));
    EXPECT_EQ(report_text(apart, {}).find("share one memory"), std::string::npos);
}

TEST(PeakText, NamesProcessesThatShareOneMemory) {
    PeakReport peak;
    const auto add = [&peak](int pid, std::uint64_t mm, int image) {
        core::Summary::Process &process = peak.summary.processes.emplace_back();
        process.pid = pid;
        process.mm = mm;
        process.image = image;
    };
    add(10, 7, 1);
    add(20, 7, 1);
    add(30, 8, 1);
    add(30, 7, 0);
    EXPECT_TRUE(peak_text(peak, {}, true).ends_with("\n  10 and 20 share one memory: it is counted once\n"))
        << peak_text(peak, {}, true);
    EXPECT_EQ(peak_text(peak, {}, false).find("share one memory"), std::string::npos)
        << "without the tree there are no rows of processes";
}

TEST(PeakText, ShowsTheDistanceFromThePeakAsFarAsThePeakIsKnown) {
    PeakReport peak;
    peak.pid = 10;
    peak.max_rss_kb = 400;
    core::Summary::Process &process = peak.summary.processes.emplace_back();
    process.pid = 10;
    process.image = process.extremes.image = 1;
    const auto distance = [&](std::int64_t from, std::int64_t to, bool lossy) {
        process.extremes.most.from = core::Pages{from};
        process.extremes.most.to = core::Pages{to};
        process.extremes.lossy = lossy;
        const std::string text = peak_text(peak, {}, false);
        const std::size_t at = text.find("ru_maxrss 400 kB, ");
        return text.substr(at + 18, text.find(';', at) - at - 18);
    };
    EXPECT_EQ(distance(90, 90, false), "40 kB more");
    EXPECT_EQ(distance(100, 100, false), "the same");
    EXPECT_EQ(distance(90, 110, false), "40 kB less to 40 kB more");
    EXPECT_EQ(distance(90, 90, true), "at an unknown distance");
}

/// Records after the last tick are in the amounts of the mappings, not in the growth.
TEST(Report, MarksTheGrowthByMappingOfARecordingWithoutItsEnd) {
    for (const bool complete : {true, false}) {
        exporters::test::Recorded all = whole(with_rows({exporters::test::tick(2 * kSecond, 10, 200, 100)}));
        exporters::TickRow &row = std::get<exporters::TickRow>(all.rows.at(0));
        for (const core::State state : {core::State::Running, core::State::Exited}) {
            row.state = state;
            row.at.mm = 77;
            all.ending.complete = complete;
            const Report report = report_of(all);
            const auto &images = report.processes.at(0).images;
            ASSERT_EQ(images.size(), 1U);
            EXPECT_EQ(images[0].parts_approximate, !complete && state == core::State::Running);
        }
    }
}

TEST(ReportText, NamesWhatIsMissing) {
    exporters::test::Recorded all = recorded();
    all.ending.complete = false;
    all.ending.missing = {{"damaged", kSecond, 2 * kSecond, std::nullopt}};
    const std::string text = report_text(report_of(all), {});
    EXPECT_NE(text.find("NOT complete\n  missing from 1.000 s to 2.000 s: ? records, damaged\n"), std::string::npos)
        << text;
}

TEST(ReportText, IsAsciiWhereItMustBe) {
    ReportStyle style;
    style.utf8 = false;
    const Report report = report_of(recorded());
    for (const std::string &text : {report_text(report, style), diff_text(report, report, style)})
        EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
            << text;
}

TEST(ReportText, ADifferenceHasAllThreeNumbers) {
    const Report before = report_of(recorded());
    const Report after = report_of(with_rows({exporters::test::tick(1, 10, 180, 90)}));
    const std::string text = diff_text(before, after, {});
    EXPECT_NE(text.find("peak_lag               \u2265240 kB          360 kB        ~+120 kB\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("lost                         3               0              -3\n"), std::string::npos) << text;
    const std::string certain = diff_text(report_of(whole(recorded())), after, {});
    EXPECT_NE(certain.find("peak_lag                240 kB          360 kB         +120 kB\n"), std::string::npos)
        << certain;
}

TEST(ReportText, ADifferenceOfRangesIsNotKnown) {
    const auto peak = [](std::int64_t from, std::int64_t to) {
        exporters::TickRow row = exporters::test::tick(kSecond, 10, to, to);
        row.extremes.most.from = Pages{from};
        return report_of(with_rows({row}));
    };
    const std::string text = diff_text(peak(302, 404), peak(265, 352), {});
    EXPECT_NE(text.find("\npeak_rss        1,208 kB to 1,616 kB  1,060 kB to 1,408 kB               ?\n"),
              std::string::npos)
        << text;
    const auto json = ordered_json::parse(diff_json(peak(302, 404), peak(265, 352)));
    EXPECT_EQ(json.at("change").at("peak_rss"), nullptr);
    EXPECT_EQ(json.at("before").at("approximate"), ordered_json::array({"peak_rss"}));
    EXPECT_EQ(json.at("after").at("approximate"), ordered_json::array({"peak_rss"}));
    EXPECT_EQ(ordered_json::parse(diff_json(peak(302, 302), peak(265, 265))).at("change").at("peak_rss"), -37);
    Report large_pages = peak(265, 265);
    large_pages.facts.machine.page_size = {65'536};
    const auto changes = ordered_json::parse(diff_json(peak(302, 302), large_pages)).at("change");
    EXPECT_EQ(changes.at("peak_rss"), nullptr) << "pages of another size";
    EXPECT_EQ(changes.at("lost"), 0);
}

TEST(ReportSvg, CountsTheProcessesThatItDoesNotDraw) {
    std::vector<exporters::Row> rows;
    for (int pid = 1; pid <= 34; ++pid)
        rows.push_back(exporters::test::tick(kSecond, pid, 200, 100));
    EXPECT_NE(report_svg(report_of(with_rows(rows))).find(">2 more processes without a panel<"), std::string::npos);
    rows.resize(32);
    EXPECT_EQ(report_svg(report_of(with_rows(rows))).find("without a panel"), std::string::npos);
}

TEST(ReportSvg, EscapesNamesAndDrawsEachLine) {
    const std::string svg = report_svg(report_of(recorded()));
    EXPECT_TRUE(svg.starts_with("<svg xmlns="));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_NE(svg.find("a,&quot;b&quot;&lt;&amp;\\x1b[31m"), std::string::npos) << svg;
    EXPECT_EQ(svg.find('\x1b'), std::string::npos);
    EXPECT_EQ(svg.find("http", 40), std::string::npos) << "the SVG must not load other files";
    // The first tick is at 3 s of 7 s.
    for (const char *style : {"reported", "cached"})
        EXPECT_NE(svg.find(std::string("<path class=\"") + style + "\" d=\"M465.7 "), std::string::npos)
            << style << svg;
    EXPECT_NE(svg.find("<path class=\"exact\" d=\"M465 "), std::string::npos) << svg;
    EXPECT_NE(svg.find("at most 640 kB at 4.000 s, peak lag 240 kB at 4.000 s"), std::string::npos) << svg;
}

}  // namespace
}  // namespace rsslag::report
