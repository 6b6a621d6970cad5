// SPDX-License-Identifier: BSD-2-Clause
// Charts of what a process held, from every record.
#include "core/course.h"

#include <gtest/gtest.h>

#include "report/report_builder.h"
#include "rows.h"

namespace rsslag::report {
namespace {

using core::CourseBuilder;
using core::CourseSpan;
using core::Held;
using core::Pages;
using exporters::test::kSecond;
constexpr std::uint64_t kMs = 1'000'000;

TEST(Course, KeepsASpikeHoweverManyRecordsThereAre) {
    CourseBuilder course;
    for (std::uint64_t i = 0; i < 1'000'000; ++i)
        course.add(i * kMs, {Pages{i == 777'777 ? 5000 : 100}, Pages{i == 333'333 ? 90 : 1}});
    const std::vector<CourseSpan> spans = course.take();
    EXPECT_LE(spans.size(), 2048U);
    EXPECT_GT(spans.size(), 512U);
    const core::CourseColumns all = core::course_columns(spans, 1'000'000 * kMs, 100);
    for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_TRUE(all[i]) << i;
        EXPECT_EQ(all[i]->least, Pages{100}) << i;
        EXPECT_EQ(all[i]->most, Pages{i == 77 ? 5000 : 100}) << i;
        EXPECT_EQ(all[i]->lag, Pages{i == 33 ? 90 : 1}) << i;
    }
}

TEST(Course, HoldsWhatItWasWhereNoRecordComes) {
    CourseBuilder course;
    course.add(25 * kMs, {Pages{7}, Pages{3}});
    course.add(75 * kMs, {Pages{9}, Pages{0}});
    const core::CourseColumns all = core::course_columns(course.take(), 100 * kMs, 10);
    for (const std::size_t unknown : {0U, 1U, 8U, 9U})
        EXPECT_FALSE(all[unknown]) << unknown;
    for (std::size_t i = 2; i < 7; ++i) {
        ASSERT_TRUE(all[i]) << i;
        EXPECT_EQ(all[i]->most, Pages{7}) << i;
        EXPECT_EQ(all[i]->lag, Pages{3}) << i;
    }
    ASSERT_TRUE(all[7]);
    EXPECT_EQ(all[7]->least, Pages{7}) << "the value at the start of the column";
    EXPECT_EQ(all[7]->most, Pages{9});
}

exporters::UpdateRow holding(std::uint64_t t_ns, std::int64_t rss, std::int64_t lag) {
    exporters::UpdateRow row = exporters::test::update(t_ns, 10, 11, core::Member::Anon, 1);
    row.held = Held{{rss}, {lag}};
    return row;
}

/// 100 pages at each tick, and 5,000 for 3 ms in between.
Report spike() {
    exporters::test::Recorded all;
    all.head = exporters::test::facts();
    all.head.machine.scheme = core::Scheme::Cpu;
    all.head.machine.cpus_online = 2;
    all.rows = {exporters::test::tick(0, 10, 100, 100), holding(5 * kSecond + 50 * kMs, 5000, 60),
                holding(5 * kSecond + 53 * kMs, 100, 0), exporters::test::tick(10 * kSecond, 10, 100, 100)};
    all.ending.duration_ns = 10 * kSecond;
    ReportBuilder builder;
    EXPECT_TRUE(all.into(builder).ok());
    return builder.take();
}

TEST(ReportText, DrawsAPeakBetweenTicksAndNoGapAsNothing) {
    ReportStyle style;
    style.utf8 = false;
    const std::string text = report_text(spike(), style);
    EXPECT_NE(text.find("rss over time (each column: lowest to highest)\n"
                        "       20,000 kB |                              :\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("            0 kB |..............................:............................."),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("          240 kB |                              #\n"), std::string::npos) << text;
    EXPECT_NE(text.find("            0 kB |______________________________#_____________________________"),
              std::string::npos)
        << text;
}

TEST(ReportSvg, DrawsAPeakBetweenTicksAndTheLagWithItsBound) {
    const std::string svg = report_svg(spike());
    EXPECT_NE(svg.find(">20,000 kB</text>"), std::string::npos) << "the scale reaches the peak: " << svg;
    EXPECT_NE(svg.find("<path class=\"exact\" d=\"M110 "), std::string::npos);
    EXPECT_NE(svg.find("L529 80.0"), std::string::npos)
        << "the peak is at the top, in the middle of the time axis: " << svg;
    EXPECT_NE(svg.find("<path class=\"lag\" d=\"M110 "), std::string::npos);
    EXPECT_NE(svg.find("<path class=\"bound\" d=\"M110 294.0H940\"/>"), std::string::npos) << svg;
    EXPECT_NE(svg.find("hard bound of the cpu scheme: 744 kB"), std::string::npos) << svg;
}

}  // namespace
}  // namespace rsslag::report
