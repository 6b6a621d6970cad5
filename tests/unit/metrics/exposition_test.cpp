// SPDX-License-Identifier: BSD-2-Clause
#include "metrics/exposition.h"

#include <gtest/gtest.h>

#include <sstream>

namespace rsslag::metrics {
namespace {

Exposition exposition() {
    Exposition exposition;
    exposition.machine.scheme = core::Scheme::Cpu;
    exposition.machine.page_size.bytes = 4096;
    exposition.kernel = "6.1";
    exposition.version = "rsslag 0";
    Group group;
    group.name = "a \"b\"\n\\";
    group.flushed.anon = {10};
    group.cached.anon = {-2};
    group.processes = 1;
    exposition.groups.push_back(group);
    return exposition;
}

std::vector<std::string> lines_with(const std::string &text, const std::string &what) {
    std::vector<std::string> found;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        if (line.find(what) != std::string::npos) found.push_back(line);
    }
    return found;
}

TEST(Exposition, HasBytesByMemberAndPart) {
    const std::string all = text(exposition(), Format::Prometheus);
    const auto anon = lines_with(all, "member=\"anon\"");
    ASSERT_EQ(anon.size(), 2U);
    EXPECT_TRUE(anon[0].ends_with("part=\"cached\"} -8192")) << anon[0];
    EXPECT_TRUE(anon[1].ends_with("part=\"flushed\"} 40960")) << anon[1];
    EXPECT_EQ(lines_with(all, "# TYPE rsslag_process_resident_memory_bytes gauge").size(), 1U);
}

TEST(Exposition, DoesNotDivideWhatProcAloneShows) {
    Exposition all = exposition();
    all.by_proc = true;
    all.groups[0].undivided.anon = {5};
    all.groups[0].with_members = 1;
    all.groups[0].walked = {7};
    std::string told = text(all, Format::Prometheus);
    const auto anon = lines_with(told, "member=\"anon\"");
    ASSERT_EQ(anon.size(), 1U);
    EXPECT_TRUE(anon[0].ends_with("member=\"anon\",part=\"undivided\"} 20480")) << anon[0];
    EXPECT_EQ(lines_with(told, "member=\"undivided\",part=\"undivided\"} 28672").size(), 1U);
    EXPECT_EQ(lines_with(told, "rsslag_lag_bytes{").size(), 1U);
    EXPECT_EQ(lines_with(told, "rsslag_processes_unread{").size(), 1U);
    EXPECT_TRUE(lines_with(told, "rsslag_lag_bound_bytes").empty());
    EXPECT_EQ(lines_with(told, "scheme=\"unknown\"").size(), 1U);
    all.groups[0].with_members = 0;
    all.groups[0].without_lag = 1;
    told = text(all, Format::Prometheus);
    EXPECT_TRUE(lines_with(told, "member=\"anon\"").empty());
    EXPECT_TRUE(lines_with(told, "rsslag_process_swap_bytes{").empty());
    EXPECT_TRUE(lines_with(told, "rsslag_lag_bytes{").empty()) << "the lag of a process is not known";
}

TEST(Exposition, NamesAreOneLineEach) {
    const std::string all = text(exposition(), Format::Prometheus);
    for (const std::string &line : lines_with(all, "rsslag_processes{"))
        EXPECT_EQ(line, R"(rsslag_processes{comm="a \"b\"\\x0a\\\\"} 1)");
    EXPECT_EQ(lines_with(all, "rsslag_processes{").size(), 1U);
}

TEST(Exposition, WritesACommAsTheMountedFileDoes) {
    Exposition all = exposition();
    all.groups[0].name = "caf\xc3\xa9";
    EXPECT_EQ(lines_with(text(all, Format::Prometheus), R"(rsslag_processes{comm="caf\\xc3\\xa9"} 1)").size(), 1U);
    all.label = "exe";
    EXPECT_EQ(lines_with(text(all, Format::Prometheus), "rsslag_processes{exe=\"caf\xc3\xa9\"} 1").size(), 1U);
}

TEST(Exposition, HasTheMetricsOfTracedProcesses) {
    Exposition all = exposition();
    EXPECT_TRUE(lines_with(text(all, Format::Prometheus), "rsslag_trace").empty());
    TracedGroup group;
    group.name = "job";
    group.counts.updates = 5;
    group.counts.updates_by_others = 1;
    group.counts.flushes[static_cast<std::size_t>(core::FlushReason::Fold)] = 3;
    group.peak_from = {10};
    group.peak_to = {12};
    all.trace.emplace(Exposition::Trace{{group}, {7, {{"ring_full", 2}}}, {}});
    all.trace->missed.processes_read_late = 3;
    all.trace->missed.not_traced_reason = "cannot read /proc";
    const std::string result = text(all, Format::Prometheus);
    for (const char *const line : {
             R"(rsslag_traced_updates_total{by="own",comm="job"} 5)",
             R"(rsslag_traced_updates_total{by="others",comm="job"} 1)",
             R"(rsslag_traced_flushes_total{comm="job",reason="fold"} 3)",
             R"(rsslag_traced_peak_resident_memory_bytes{comm="job"} 40960)",
             R"(rsslag_traced_peak_uncertainty_bytes{comm="job"} 8192)",
             R"(rsslag_trace_records_total 7)",
             R"(rsslag_trace_lost_records_total{cause="ring_full"} 2)",
             R"(rsslag_trace_lost_records_total{cause="unreadable"} 0)",
             R"(rsslag_trace_missed_processes_total{cause="read_late"} 3)",
             R"(rsslag_trace_missed_processes_total{cause="not_attached"} 0)",
             R"(rsslag_trace_missed_processes_total{cause="search_failed"} 1)",
         })
        EXPECT_EQ(lines_with(result, line).size(), 1U) << line;
    EXPECT_EQ(lines_with(result, "rsslag_traced_flushes_total{").size(), 1U)
        << "only the reasons of this scheme have series";
    all.machine.scheme = core::Scheme::Thread;
    EXPECT_EQ(lines_with(text(all, Format::Prometheus), "rsslag_traced_flushes_total{").size(), 4U);
}

TEST(Exposition, AnExporterCountsWhatItDoes) {
    Exporter exporter;
    for (int seconds = 1; seconds <= 7; ++seconds)
        exporter.count_request(seconds);
    exporter.count_reading(1000);
    exporter.count_reading(2000);
    exporter.count_failure();
    EXPECT_TRUE(lines_with(text(exposition(), Format::Prometheus), "requests").empty());
    const std::string result = text(exporter, Format::Prometheus);
    for (const char *const line :
         {"rsslag_readings_total 2", "rsslag_reading_failures_total 1", "rsslag_requests_total 7",
          "rsslag_exporter_cpu_seconds_total 7", "rsslag_exporter_resident_memory_bytes 2000",
          "# TYPE rsslag_requests_total counter", "# TYPE rsslag_exporter_resident_memory_bytes gauge"})
        EXPECT_EQ(lines_with(result, line).size(), 1U) << line;
}

TEST(Exposition, PrometheusGetsTheFormatThatItPrefers) {
    EXPECT_EQ(accepted("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                       "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
              Format::OpenMetrics)
        << "Prometheus 2";
    EXPECT_EQ(
        accepted("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
                 "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
                 "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"),
        Format::OpenMetrics)
        << "Prometheus 3";
    EXPECT_EQ(accepted("text/plain;version=0.0.4;q=0.6,*/*;q=0.5"), Format::Prometheus) << "PrometheusText0.0.4 only";
}

TEST(Exposition, OpenMetricsIsForWhoAsksForIt) {
    EXPECT_EQ(accepted("text/plain;version=0.0.4;q=0.5,*/*;q=0.1"), Format::Prometheus);
    EXPECT_EQ(accepted(""), Format::Prometheus);
    EXPECT_EQ(accepted("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"), Format::OpenMetrics);
    EXPECT_EQ(accepted("Application/OpenMetrics-Text; Version=\"1.0.0\" ; Q=0.9"), Format::OpenMetrics);
    EXPECT_EQ(accepted("application/openmetrics-text,*/*"), Format::OpenMetrics);
    EXPECT_EQ(accepted("application/openmetrics-text;q=0"), Format::Prometheus);
    EXPECT_EQ(accepted("text/plain;version=0.0.4;q=1,application/openmetrics-text;q=0.1"), Format::Prometheus);
    EXPECT_EQ(accepted("application/openmetrics-text;q=0.5,*/*"), Format::Prometheus);
    EXPECT_EQ(accepted("application/openmetrics-text;q=0.5,text/plain;q=0.1,*/*;q=0.9"), Format::OpenMetrics);
    EXPECT_EQ(accepted("application/openmetrics-text;q=0.5,text/*;q=0,*/*"), Format::OpenMetrics);
    EXPECT_EQ(accepted("application/openmetrics-text-foo"), Format::Prometheus);
    EXPECT_EQ(accepted("text/html;x=application/openmetrics-text"), Format::Prometheus);
    EXPECT_EQ(accepted("application/openmetrics-text;version=0.0.1"), Format::Prometheus);
    for (const char *const hostile : {",", ";", "=", ";;q=,=;q", "application/openmetrics-text;q=x=y;q=", " \t"})
        accepted(hostile);
    const std::string open = text(exposition(), Format::OpenMetrics) + text(Exporter{}, Format::OpenMetrics);
    EXPECT_TRUE(open.ends_with("\n# EOF\n"));
    EXPECT_EQ(lines_with(open, "# EOF").size(), 1U);
    EXPECT_EQ(lines_with(open, "# TYPE rsslag_requests counter").size(), 1U);
    EXPECT_EQ(lines_with(open, "rsslag_requests_total 0").size(), 1U);
    EXPECT_TRUE(lines_with(open, "# TYPE rsslag_requests_total").empty());
}

}  // namespace
}  // namespace rsslag::metrics
