// SPDX-License-Identifier: BSD-2-Clause
// A report as a page.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "report/report_builder.h"
#include "rows.h"

namespace rsslag::report {
namespace {

using core::Pages;
using nlohmann::ordered_json;

constexpr std::string_view kHostile =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e\x1b[31m";

Report page_report() {
    ReportBuilder builder;
    EXPECT_TRUE(exporters::test::recorded().into(builder).ok());
    return builder.take();
}

std::size_t times(const std::string &text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

/// The data that the page's script reads.
ordered_json data_of(const std::string &page) {
    constexpr std::string_view kBegin = "id=\"data\">";
    const std::size_t from = page.find(kBegin) + kBegin.size();
    return ordered_json::parse(page.substr(from, page.find("</script>", from) - from));
}

exporters::ImageGrowth::Mapping mapping(std::string name, Pages came) {
    exporters::ImageGrowth::Mapping made;
    made.name = std::move(name);
    made.came = came;
    return made;
}

void name_all(Report &report, std::string_view raw) {
    const std::string name(raw);
    report.facts.host = report.facts.kernel = report.facts.arch = report.facts.command_line = name;
    report.ending.complete = false;
    report.ending.missing.push_back({name, 1, 2, 3});
    report.ending.lost_by[name] = 4;
    if (report.peak_lag) report.peak_lag->comm = name;
    report.names = true;
    for (ReportProcess &process : report.processes) {
        process.comm = name;
        for (ReportThread &thread : process.threads)
            thread.comm = name;
        exporters::ImageGrowth image;
        image.comm = name;
        image.mappings.push_back(mapping(name, Pages{1}));
        process.images.push_back(image);
    }
}

TEST(ReportPage, MakesTextOfWhateverANameIs) {
    Report report = page_report();
    const std::size_t plain = times(report_html(report), "<");
    name_all(report, kHostile);
    const std::string page = report_html(report);
    EXPECT_EQ(times(page, "<script"), 2U);
    EXPECT_EQ(times(page, "<img"), 0U);
    EXPECT_EQ(page.find('\x1b'), std::string::npos);
    EXPECT_EQ(page.find("\u202e"), std::string::npos);
    EXPECT_GT(times(page, "&lt;/script&gt;&lt;script&gt;alert(1)"), 5U);
    EXPECT_GT(times(page, "<"), plain);  // rows that the page's script adds
    EXPECT_NO_THROW(data_of(page));
}

TEST(ReportPage, ShowsByWhichStackMostPagesOfAMappingCame) {
    Report report = page_report();
    name_all(report, kHostile);
    EXPECT_EQ(report_html(report).find("MOST SAMPLED PAGES"), std::string::npos);
    report.names = true;
    report.stacks.period = 64;
    report.stacks.frames = {{"touch<T>", "/bin/x", {}, 1}, {"main", "/bin/x", {}, 2}};
    report.stacks.stacks = {{{0, 1}, core::StackEnd::Outermost}};
    report.processes.at(0).images.back().mm = 7;
    report.stacks.mappings = {{7, report.processes.at(0).pid, std::string(kHostile), 0, 0.75}};
    const std::string page = report_html(report);
    EXPECT_NE(page.find("MOST SAMPLED PAGES"), std::string::npos);
    EXPECT_EQ(times(page, "75 % by touch&lt;T&gt; &lt; main"), 1U);
}

TEST(ReportPage, LoadsNothing) {
    const std::string page = report_html(page_report());
    EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
    for (const char *const word : {"src=", "href=", "url(", "@import", "https:", "fetch(", "innerHTML", "eval("})
        EXPECT_EQ(page.find(word), std::string::npos) << word;
    EXPECT_EQ(times(page, "http:"), 1U);  // the SVG namespace
}

TEST(ReportPage, DrawsWhatRecordsAndTicksTell) {
    Report report = page_report();
    const ReportProcess &process = report.processes.at(0);
    const ordered_json data = data_of(report_html(report));
    ASSERT_EQ(data.at("processes").size(), report.processes.size());
    const ordered_json *drawn = nullptr;
    for (const ordered_json &each : data.at("processes"))
        if (each.at("peak_ns") == process.extremes.most.t_ns) drawn = &each;
    ASSERT_NE(drawn, nullptr);
    const auto most_of = [drawn](const char *line) {
        std::int64_t most = 0;
        for (const ordered_json &each : drawn->at(line))
            if (each.is_number()) most = std::max(most, each.get<std::int64_t>());
        return most;
    };
    std::int64_t walked = 0, course = 0;
    for (const LagPoint &point : process.points)
        walked = std::max(walked, point.walked.value_or(Pages{}).n);
    for (const core::CourseSpan &span : process.course)
        course = std::max(course, span.most.n);
    EXPECT_EQ(most_of("walked"), walked);
    EXPECT_EQ(most_of("most"), course);
    EXPECT_GT(course, 0);
    for (const char *const line : {"least", "lag", "flushed", "stat", "cached"})
        EXPECT_EQ(drawn->at(line).size(), drawn->at("most").size()) << line;
}

TEST(ReportPage, SaysFirstWhatIsNotKnown) {
    Report report = page_report();
    report.ending.complete = false;
    report.ending.missing.push_back({"chunks are missing", 1'000'000'000, 2'000'000'000, 17});
    report.processes.at(0).extremes.lossy = true;
    const std::string page = report_html(report);
    EXPECT_NE(page.find("the recording is NOT complete"), std::string::npos);
    EXPECT_NE(page.find("missing from 1.000 s to 2.000 s: 17 records, chunks are missing"), std::string::npos);
    EXPECT_LT(page.find("missing from"), page.find("<h2>Processes"));
    EXPECT_NE(page.find("at least "), std::string::npos);
    EXPECT_EQ(times(page, ">~240 kB</td>"), 1U) << "the table of processes has the peak lag once";
}

TEST(ReportPage, HasARowForWhatIsNotAttributed) {
    Report report = page_report();
    EXPECT_EQ(report_html(report).find("not attributed"), std::string::npos);
    report.processes.at(0).sum.remainder.anon = Pages{7};
    const std::string page = report_html(report);
    EXPECT_NE(page.find("<td class=\"name\">not attributed</td><td class=\"n\" data-v=\"-1\"></td>"
                        "<td class=\"n\" data-v=\"7\">28 kB</td>"),
              std::string::npos)
        << page;
}

TEST(ReportPage, StaysSmallWhateverThereIs) {
    Report report = page_report();
    ReportProcess large = report.processes.at(0);
    large.extremes.most.to = Pages{1 << 28};
    large.course.clear();
    for (std::uint64_t i = 0; i < 2'000; ++i) {
        const core::Held held{Pages{(1 << 28) + static_cast<std::int64_t>(i)}, Pages{12'345}};
        large.course.push_back({i * 1'800'000'000, held.rss, held.rss, held.lag, held});
        large.points.push_back(
            {i * 1'800'000'000, Pages{1 << 20}, Pages{1 << 28}, Pages{1 << 28}, Pages{1 << 20}, Pages{1 << 28}});
    }
    large.threads.resize(1'000, large.threads.at(0));
    exporters::ImageGrowth image;
    image.mappings.resize(100, mapping(std::string(60, 'x'), Pages{1 << 20}));
    large.images.assign(3, image);
    report.names = true;
    report.ending.duration_ns = 3'600'000'000'000;
    for (const std::size_t processes : {1U, 65U}) {
        report.processes.assign(processes, large);
        const std::string page = report_html(report);
        EXPECT_LT(page.size(), 2'000'000U) << processes;
        EXPECT_EQ(page.find("more, each with a smaller peak") != std::string::npos, processes > 64) << processes;
    }
}

}  // namespace
}  // namespace rsslag::report
