// SPDX-License-Identifier: BSD-2-Clause
#include "documents/doctor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "documents.h"
#include "golden.h"

namespace rsslag::documents {
namespace {

using nlohmann::ordered_json;
using test::is_golden;
using test::refusing_machine;
using test::working_machine;

TEST(Doctor, ShowsWhatWorks) {
    EXPECT_TRUE(is_golden(doctor_text(working_machine()), "doctor_works.txt"));
}

TEST(Doctor, ShowsWhatIsMissingAndTheRemedy) {
    EXPECT_TRUE(is_golden(doctor_text(refusing_machine()), "doctor_refuses.txt"));
}

TEST(Doctor, SaysThatTracingWorksUnlessAProblemIsFatal) {
    DoctorReport report = working_machine();
    EXPECT_TRUE(report.tracing_works());
    report.problems.push_back({"no BTF", "boot another kernel", true});
    EXPECT_FALSE(report.tracing_works());
    report.problems.clear();
    EXPECT_TRUE(report.tracing_works());
}

TEST(DoctorJson, HasItsKeysInOrder) {
    const std::vector<std::string> expected{"schema",
                                            "time",
                                            "kernel",
                                            "arch",
                                            "scheme",
                                            "scheme_evidence",
                                            "page_size",
                                            "cpus_online",
                                            "cpus_possible",
                                            "batch",
                                            "btf",
                                            "task_iterator",
                                            "task_iterator_by_group",
                                            "hooks",
                                            "capabilities",
                                            "lockdown",
                                            "seccomp_mode",
                                            "hidepid",
                                            "page_monitor",
                                            "memlock_bytes",
                                            "calibration",
                                            "calibration_us",
                                            "tracing",
                                            "problems"};
    for (const DoctorReport &report : {working_machine(), refusing_machine()}) {
        std::vector<std::string> keys;
        const ordered_json json = ordered_json::parse(doctor_json(report));
        for (const auto &item : json.items())
            keys.push_back(item.key());
        EXPECT_EQ(keys, expected);
    }
}

TEST(DoctorJson, SaysWhatWorks) {
    const ordered_json json = ordered_json::parse(doctor_json(working_machine()));
    EXPECT_EQ(json.at("schema"), "rsslag.doctor/1");
    EXPECT_EQ(json.at("time"), "2024-06-07T12:00:00.042Z");
    EXPECT_EQ(json.at("scheme"), "cpu");
    EXPECT_EQ(json.at("batch"), 64);
    EXPECT_EQ(json.at("tracing"), true);
    EXPECT_EQ(json.at("hidepid"), 0);
    EXPECT_EQ(json.at("memlock_bytes"), 8'388'608);
    EXPECT_EQ(json.at("calibration").dump(), R"({"stat":"flushed","statm":"exact","status":"exact"})");
    EXPECT_EQ(json.at("calibration_us"), 3'140);
    EXPECT_EQ(json.at("hooks").dump(),
              R"([{"name":"tp_btf/rss_stat","usable":true,"reason":null},)"
              R"({"name":"fexit/handle_mm_fault","usable":false,"reason":"Operation not permitted"}])");
    EXPECT_EQ(json.at("problems").dump(),
              R"([{"what":"CAP_SYS_PTRACE is missing","remedy":"setcap it","fatal":false}])");
}

TEST(DoctorJson, SaysNullForWhatIsNotKnown) {
    DoctorReport report = refusing_machine();
    report.hidepid.reset();
    const ordered_json json = ordered_json::parse(doctor_json(report));
    EXPECT_EQ(json.at("scheme"), "unknown");
    EXPECT_EQ(json.at("tracing"), false);
    for (const char *key : {"batch", "lockdown", "hidepid", "memlock_bytes", "calibration", "calibration_us"})
        EXPECT_TRUE(json.at(key).is_null()) << key;
}

}  // namespace
}  // namespace rsslag::documents
