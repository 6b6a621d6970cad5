// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "documents.h"
#include "expected.h"

namespace rsslag::documents {
namespace {

using nlohmann::ordered_json;
using test::bare_document;
using test::cpu_document;
using test::Keys;
using test::keys;
using test::kMemberKeys;
using test::members;
using test::thread_document;

ordered_json parsed(const SnapshotDocument &document) {
    return ordered_json::parse(snapshot_json(document));
}

ordered_json first_process(const SnapshotDocument &document) {
    return parsed(document).at("processes").at(0);
}

Keys around_members(const Keys &before, const Keys &after) {
    Keys all = before;
    all.insert(all.end(), kMemberKeys.begin(), kMemberKeys.end());
    all.insert(all.end(), after.begin(), after.end());
    return all;
}

std::vector<SnapshotDocument> all_documents() {
    return {thread_document(), cpu_document(), bare_document()};
}

TEST(SnapshotJson, IsOneLine) {
    for (const SnapshotDocument &document : all_documents()) {
        const std::string json = snapshot_json(document);
        EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 1);
        EXPECT_EQ(json.back(), '\n');
    }
}

TEST(SnapshotJson, HasTheContractsKeysInItsOrder) {
    for (const SnapshotDocument &document : all_documents()) {
        const ordered_json json = parsed(document);
        EXPECT_EQ(keys(json), (Keys{"schema", "time", "kernel", "arch", "scheme", "page_size", "cpus_online",
                                    "cpus_possible", "batch", "calibration", "processes", "failed"}));
        EXPECT_EQ(json.at("schema"), "rsslag.snapshot/2");
        EXPECT_EQ(keys(json.at("calibration")), (Keys{"stat", "statm", "status"}));
        const ordered_json &process = json.at("processes").at(0);
        EXPECT_EQ(keys(process), (Keys{"pid",
                                       "host_pid",
                                       "start_ticks",
                                       "uid",
                                       "comm",
                                       "threads_count",
                                       "mm",
                                       "readers",
                                       "walk",
                                       "walked",
                                       "flushed",
                                       "cached",
                                       "exact",
                                       "bound",
                                       "lag",
                                       "behind",
                                       "window",
                                       "residual",
                                       "residual_causes",
                                       "verdict",
                                       "cached_by",
                                       "snapshot_us",
                                       "hugetlb_kb"}));
        EXPECT_EQ(keys(process.at("mm")), (Keys{"id", "tasks", "pids"}));
        EXPECT_EQ(keys(process.at("readers")), (Keys{"stat", "statm", "status"}));
        EXPECT_EQ(keys(process.at("readers").at("stat")), (Keys{"rss_kb"}));
        EXPECT_EQ(keys(process.at("readers").at("statm")), (Keys{"rss_kb"}));
        EXPECT_EQ(keys(process.at("readers").at("status")),
                  (Keys{"rss_kb", "anon_kb", "file_kb", "shmem_kb", "swap_kb", "hwm_kb"}));
        for (const char *each : {"flushed", "cached", "exact"})
            EXPECT_EQ(keys(process.at(each)), kMemberKeys) << each;
        EXPECT_EQ(keys(process.at("bound")), around_members({}, {"hard"}));
        EXPECT_EQ(keys(process.at("window")), (Keys{"min", "max", "updates"}));
    }
}

TEST(SnapshotJson, NamesEachCacherAsItsSchemeDoes) {
    const ordered_json threads = first_process(thread_document()).at("cached_by");
    ASSERT_EQ(threads.size(), 4U);
    for (const ordered_json &row : threads)
        EXPECT_EQ(keys(row), around_members({"tid", "tgid", "comm"}, {"faults_since_flush"}));
    const ordered_json cpus = first_process(cpu_document()).at("cached_by");
    ASSERT_EQ(cpus.size(), 2U);
    for (const ordered_json &row : cpus)
        EXPECT_EQ(keys(row), around_members({"cpu"}, {}));
    EXPECT_EQ(cpus.at(1).at("cpu"), 3);
}

TEST(SnapshotJson, AddsUpMemberByMember) {
    for (const SnapshotDocument &document : all_documents()) {
        const ordered_json process = first_process(document);
        for (const std::string &member : kMemberKeys) {
            const auto flushed = process.at("flushed").at(member).get<std::int64_t>();
            const auto cached = process.at("cached").at(member).get<std::int64_t>();
            EXPECT_EQ(process.at("exact").at(member), flushed + cached) << member;
            std::int64_t by = 0;
            for (const ordered_json &row : process.at("cached_by"))
                by += row.at(member).get<std::int64_t>();
            EXPECT_EQ(by, cached) << member;
        }
        for (const char *each : {"flushed", "cached", "exact"}) {
            const ordered_json &m = process.at(each);
            EXPECT_EQ(m.at("rss").get<std::int64_t>(), m.at("file").get<std::int64_t>() +
                                                           m.at("anon").get<std::int64_t>() +
                                                           m.at("shmem").get<std::int64_t>());
        }
    }
}

TEST(SnapshotJson, AddsTheCausesUpToTheResidual) {
    SnapshotDocument document = thread_document();
    core::Reconciliation &verdict = document.processes[0].verdict;
    verdict.verdict = core::Verdict::Unexplained;
    verdict.residual = core::Pages{5};
    verdict.causes = {{core::Cause::Hwpoison, {3}}, {core::Cause::Unexplained, {2}}};
    const ordered_json process = first_process(document);
    EXPECT_EQ(process.at("verdict"), "unexplained");
    EXPECT_EQ(process.at("residual"), 5);
    EXPECT_EQ(process.at("residual_causes").dump(),
              R"([{"cause":"hwpoison","pages":3},{"cause":"unexplained","pages":2}])");
}

TEST(SnapshotJson, SaysWhatTheReadingSaid) {
    const ordered_json json = parsed(thread_document());
    EXPECT_EQ(json.at("time"), "2024-06-07T12:00:00.042Z");
    EXPECT_EQ(json.at("kernel"), "6.1.0-51-amd64");
    EXPECT_EQ(json.at("arch"), "x86_64");
    EXPECT_EQ(json.at("scheme"), "thread");
    EXPECT_EQ(json.at("page_size"), 4096);
    EXPECT_EQ(json.at("cpus_online"), 2);
    EXPECT_EQ(json.at("cpus_possible"), 4);
    EXPECT_EQ(json.at("calibration").dump(), R"({"stat":"flushed","statm":"flushed","status":"flushed"})");
    EXPECT_EQ(json.at("failed").dump(), R"([{"pid":99,"reason":"there is no process 99"}])");
    const ordered_json process = json.at("processes").at(0);
    EXPECT_EQ(process.at("pid"), 4711);
    EXPECT_EQ(process.at("host_pid"), 104'711);
    EXPECT_EQ(process.at("start_ticks"), 179'786);
    EXPECT_EQ(process.at("uid"), 1000);
    EXPECT_EQ(process.at("threads_count"), 5);
    EXPECT_EQ(process.at("mm").dump(), R"({"id":"9f86d081884c7d65","tasks":5,"pids":[4711]})");
    EXPECT_EQ(process.at("flushed").dump(), R"({"file":400,"anon":19500,"shmem":91,"swap":300,"rss":19991})");
    EXPECT_EQ(process.at("bound").dump(), R"({"file":320,"anon":320,"shmem":320,"swap":320,"rss":320,"hard":false})");
    EXPECT_EQ(process.at("lag"), 122);
    EXPECT_EQ(process.at("behind"), 122);
    EXPECT_EQ(process.at("window").dump(), R"({"min":20113,"max":20113,"updates":null})");
    EXPECT_EQ(process.at("walk"), "done");
    EXPECT_EQ(process.at("walked").dump(),
              R"({"file":"smaps_rollup","rss_kb":80452,"pss_kb":40226,"swap_kb":1204,"walk_us":512,"age_ms":1})");
    EXPECT_EQ(process.at("verdict"), "agrees");
    EXPECT_EQ(process.at("residual"), 0);
    EXPECT_EQ(process.at("snapshot_us"), 73);
}

TEST(SnapshotJson, GivesReadersInKilobytesAsProcPrintedThem) {
    const ordered_json readers = first_process(cpu_document()).at("readers");
    EXPECT_EQ(readers.at("stat").at("rss_kb"), 3'584 * 4);
    EXPECT_EQ(readers.at("statm").at("rss_kb"), 3'651 * 4);
    EXPECT_EQ(readers.at("status").dump(),
              R"({"rss_kb":14604,"anon_kb":2296,"file_kb":4080,"shmem_kb":8228,"swap_kb":0,"hwm_kb":14632})");
}

TEST(SnapshotJson, GivesTheBatchAndAHardBoundWhereCpusCache) {
    const ordered_json json = parsed(cpu_document());
    EXPECT_EQ(json.at("batch"), 32);
    EXPECT_EQ(json.at("processes").at(0).at("bound").dump(),
              R"({"file":124,"anon":124,"shmem":124,"swap":124,"rss":372,"hard":true})");
    EXPECT_TRUE(parsed(thread_document()).at("batch").is_null());
}

TEST(SnapshotJson, SaysNullForWhatIsNotKnown) {
    const ordered_json json = parsed(bare_document());
    EXPECT_EQ(json.at("calibration").dump(), R"({"stat":"unknown","statm":"unknown","status":"unknown"})");
    const ordered_json process = json.at("processes").at(0);
    EXPECT_TRUE(process.at("host_pid").is_null());
    EXPECT_TRUE(process.at("walked").is_null());
    EXPECT_TRUE(process.at("behind").is_null());
    EXPECT_TRUE(process.at("residual").is_null());
    EXPECT_EQ(process.at("walk"), "denied");
    EXPECT_EQ(process.at("verdict"), "unwalked");
    EXPECT_EQ(process.at("residual_causes").dump(), "[]");
    EXPECT_TRUE(process.at("hugetlb_kb").is_null());
    EXPECT_TRUE(process.at("readers").at("stat").at("rss_kb").is_null());
    for (const auto &item : process.at("readers").at("status").items())
        EXPECT_TRUE(item.value().is_null()) << item.key();
    const ordered_json row = process.at("cached_by").at(0);
    EXPECT_TRUE(row.at("tid").is_null());
    EXPECT_TRUE(row.at("tgid").is_null());
}

TEST(SnapshotJson, KeepsNegativeNumbersSignedAndUnclamped) {
    const ordered_json process = first_process(cpu_document());
    EXPECT_EQ(process.at("cached").at("file"), -4);
    EXPECT_EQ(process.at("cached_by").at(1).at("file"), -4);
    SnapshotDocument document = cpu_document();
    document.processes[0].readers.stat = core::Pages{4'000};
    EXPECT_EQ(first_process(document).at("behind"), 3'651 - 4'000);
}

TEST(SnapshotJson, EscapesHostileNamesAndStillParses) {
    for (const std::string &comm :
         {std::string("\x1b]0;x\a"), std::string("\xff\xc0\x80"), std::string("\u202Etxt.exe"),
          std::string("\",\"pid\":1"), std::string("a\0b", 3), std::string("\xed\xa0\x80")}) {
        SnapshotDocument document = thread_document();
        document.processes[0].comm = comm;
        document.processes[0].tasks[1].comm = comm;
        const std::string json = snapshot_json(document);
        EXPECT_TRUE(std::none_of(json.begin(), json.end() - 1, [](char c) {
            return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
        })) << json;
        EXPECT_EQ(json.find("\u202E"), std::string::npos);
        const ordered_json process = ordered_json::parse(json).at("processes").at(0);
        EXPECT_EQ(process.at("pid"), 4711);
        EXPECT_EQ(process.at("comm"), process.at("cached_by").at(0).at("comm"));
    }
    SnapshotDocument document = thread_document();
    document.processes[0].comm = "\x1b[2J\\";
    EXPECT_EQ(first_process(document).at("comm"), "\\x1b[2J\\\\");
}

TEST(SnapshotJson, ListsEveryProcessAndNone) {
    SnapshotDocument document = thread_document();
    document.processes.push_back(document.processes[0]);
    document.processes[1].pid = 4720;
    EXPECT_EQ(parsed(document).at("processes").at(1).at("pid"), 4720);
    document.processes.clear();
    document.failed.clear();
    EXPECT_EQ(parsed(document).at("processes").dump(), "[]");
    EXPECT_EQ(parsed(document).at("failed").dump(), "[]");
}

TEST(UtcTime, IsRfc3339InUtcWithMilliseconds) {
    using std::chrono::milliseconds;
    using Clock = std::chrono::system_clock;
    EXPECT_EQ(utc_time(Clock::time_point(milliseconds(0))), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(utc_time(Clock::time_point(milliseconds(1'717'761'600'999))), "2024-06-07T12:00:00.999Z");
}

TEST(Findings, CountOnlyWhoHidesPagesOfTheRss) {
    ProcessReading reading = thread_document().processes[0];
    EXPECT_EQ(reading.finding().cachers, 4U);
    reading.tasks[2].cached = members(0, 0, 0, 1);
    EXPECT_EQ(reading.finding().cachers, 3U);
    reading.tasks[2].cached = members(-2, 2);
    EXPECT_EQ(reading.finding().cachers, 4U);
    EXPECT_EQ(cpu_document().processes[0].finding().cachers, 2U);
}

}  // namespace
}  // namespace rsslag::documents
