// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "../paths.h"
#include "documents.h"
#include "expected.h"
#include "ticks.h"

namespace rsslag::documents {
namespace {

using nlohmann::ordered_json;
using test::cpu_summary;
using test::cpu_tick;
using test::ended_tick;
using test::Keys;
using test::keys;
using test::kMemberKeys;
using test::members;
using test::moving_tick;
using test::thread_summary;
using test::thread_tick;
using Which = ThreadChoice::Which;

ordered_json parsed(const Tick &tick) {
    return ordered_json::parse(tick_json(tick));
}

ordered_json schema(const std::string &name) {
    std::ifstream file(source_path("docs/schema/") + name + ".schema.json");
    return ordered_json::parse(file);
}

/// The schema allows exactly these keys for each object. A later kernel may have more members.
Keys required(const ordered_json &object_schema) {
    const bool by_member = object_schema.at("properties").contains("shmem_kb");
    const ordered_json &others = object_schema.at("additionalProperties");
    EXPECT_TRUE(by_member ? others.is_object() : others == false) << others;
    EXPECT_EQ(keys(object_schema.at("properties")), object_schema.at("required").get<Keys>());
    return object_schema.at("required").get<Keys>();
}

std::vector<Tick> all_ticks() {
    return {thread_tick(), cpu_tick(), ended_tick(), moving_tick()};
}

std::int64_t sum(const ordered_json &rows, const std::string &member) {
    std::int64_t sum = 0;
    for (const ordered_json &row : rows)
        sum += row.at("net").at(member).get<std::int64_t>();
    return sum;
}

std::vector<int> listed(const Tick &tick) {
    std::vector<int> tids;
    const ordered_json json = parsed(tick);
    for (const ordered_json &row : json.at("threads"))
        tids.push_back(row.at("tid").get<int>());
    return tids;
}

TEST(TickJson, IsOneLine) {
    for (const Tick &tick : all_ticks()) {
        const std::string json = tick_json(tick);
        EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 1);
        EXPECT_EQ(json.back(), '\n');
    }
}

TEST(TickJson, HasExactlyTheSchemasKeysInItsOrder) {
    const ordered_json tick_schema = schema("tick");
    const ordered_json &properties = tick_schema.at("properties");
    const ordered_json &defs = tick_schema.at("$defs");
    for (const Tick &tick : all_ticks()) {
        const ordered_json json = parsed(tick);
        EXPECT_EQ(keys(json), required(tick_schema));
        EXPECT_EQ(json.at("schema"), properties.at("schema").at("const"));
        for (const char *each : {"mm", "readers", "window", "exited", "own"})
            EXPECT_EQ(keys(json.at(each)), required(properties.at(each))) << each;
        EXPECT_EQ(keys(json.at("readers").at("status")),
                  required(properties.at("readers").at("properties").at("status")));
        EXPECT_EQ(keys(json.at("flush_reasons")),
                  required(defs.at("flush_reasons_" + json.at("scheme").get<std::string>())));
        for (const char *each : {"flushed", "cached", "exact", "baseline", "remainder"})
            EXPECT_EQ(keys(json.at(each)), kMemberKeys) << each;
        for (const ordered_json &row : json.at("threads"))
            EXPECT_EQ(keys(row), required(defs.at("thread")));
        for (const ordered_json &row : json.at("others"))
            EXPECT_EQ(keys(row), required(properties.at("others").at("items")));
        for (const ordered_json &row : json.at("cpus"))
            EXPECT_EQ(keys(row), required(properties.at("cpus").at("oneOf").at(1).at("items")));
    }
}

TEST(TickJson, AddsUpMemberByMember) {
    for (const Tick &tick : all_ticks()) {
        const ordered_json json = parsed(tick);
        for (const std::string &member : kMemberKeys) {
            const auto of = [&](const char *key) { return json.at(key).at(member).get<std::int64_t>(); };
            EXPECT_EQ(of("exact"), of("flushed") + of("cached")) << member;
            EXPECT_EQ(of("exact"), of("baseline") + sum(json.at("threads"), member) +
                                       json.at("exited").at("net").at(member).get<std::int64_t>() +
                                       sum(json.at("others"), member) + of("remainder"))
                << member;
        }
    }
}

TEST(TickJson, SaysWhatTheLedgerAndTheReadingSay) {
    const ordered_json json = parsed(thread_tick());
    EXPECT_EQ(json.at("seq"), 12);
    EXPECT_EQ(json.at("time"), "2024-06-07T12:00:00.042Z");
    EXPECT_EQ(json.at("t_ns"), 30'000'000'000);
    EXPECT_EQ(json.at("state"), "running");
    EXPECT_EQ(json.at("pid"), 4711);
    EXPECT_EQ(json.at("exact").dump(), R"({"file":405,"anon":19615,"shmem":93,"swap":301,"rss":20113})");
    EXPECT_EQ(json.at("lag"), 122);
    EXPECT_EQ(json.at("verdict"), "agrees");
    EXPECT_EQ(json.at("residual"), 0);
    EXPECT_EQ(json.at("window").dump(), R"({"min":20113,"max":20113,"updates":0})");
    EXPECT_EQ(json.at("updates"), 1'204);
    EXPECT_EQ(json.at("updates_by_others"), 10);
    EXPECT_EQ(json.at("faults"), 26'147);
    EXPECT_EQ(json.at("lost_by").dump(), R"({"filter":0,"ring":0})");
    EXPECT_EQ(
        json.at("others").dump(),
        R"([{"tid":61,"comm":"kswapd0","net":{"file":0,"anon":-10,"shmem":0,"swap":0,"rss":-10},"uncertain":0,"updates":10}])");
    EXPECT_EQ(json.at("own").dump(),
              R"({"cpu_percent":0.31,"bpf_ns_per_event":121.4,"rss_kb":14336,"buffers_kb":4096})");
}

TEST(TickJson, CountsNoDirectUpdateAsAFlush) {
    const ordered_json threads = parsed(thread_tick());
    EXPECT_EQ(threads.at("flushes"), 314);
    EXPECT_EQ(threads.at("flush_reasons").dump(), R"({"threshold":301,"zap":8,"exec":0,"exit":5,"direct":20})");
    const ordered_json cpus = parsed(cpu_tick());
    EXPECT_EQ(cpus.at("flushes"), 17);
    EXPECT_EQ(cpus.at("flush_reasons").dump(), R"({"fold":17})");
    Tick plain = cpu_tick();
    plain.scheme = core::Scheme::Plain;
    EXPECT_EQ(parsed(plain).at("flush_reasons").dump(), R"({"direct":0})");
    EXPECT_TRUE(parsed(plain).at("cpus").is_null());
}

TEST(TickJson, SaysWhatThreadsCacheOnlyWhereTheyDo) {
    const ordered_json threads = parsed(thread_tick());
    EXPECT_EQ(threads.at("threads").at(1).at("cached").at("rss"), 60);
    EXPECT_TRUE(threads.at("cpus").is_null());
    Tick tick = cpu_tick();
    tick.ledger.tasks[0].cached = members(1, 1);
    const ordered_json cpus = parsed(tick);
    EXPECT_TRUE(cpus.at("threads").at(0).at("cached").is_null());
    EXPECT_EQ(cpus.at("threads").at(0).at("uncertain"), 3);
    EXPECT_EQ(cpus.at("cpus").at(2).dump(),
              R"({"cpu":3,"cached":{"file":-4,"anon":31,"shmem":9,"swap":0,"rss":36},"folds":3})");
}

TEST(TickJson, SaysHowOldTheLastFlushIsAndNullWhereThereWasNone) {
    const ordered_json threads = parsed(thread_tick()).at("threads");
    EXPECT_TRUE(threads.at(0).at("flush_age_ms").is_null());
    EXPECT_EQ(threads.at(1).at("flush_age_ms"), 21'700);
    EXPECT_EQ(threads.at(3).at("flush_age_ms"), 1);
    EXPECT_EQ(threads.at(4).at("flush_age_ms"), 0) << "the age of a flush after the tick's time is 0";
}

TEST(TickJson, ListsAllThreadsByTheirNumber) {
    EXPECT_EQ(listed(thread_tick()), (std::vector<int>{4711, 4712, 4713, 4714, 4715}));
}

TEST(TickJson, ListsThreadsThatHaveChangedSinceTheLastTick) {
    Tick tick = thread_tick();
    tick.threads.which = Which::Changed;
    EXPECT_EQ(listed(tick).size(), 5U) << "all threads have updates, and there is no earlier tick";
    tick.updates_before = {{104'711, 30}, {104'712, 69}, {104'713, 4}, {104'714, 5}};
    EXPECT_EQ(listed(tick), (std::vector<int>{4712, 4715}));
    tick.ledger.tasks[4].updates = 0;
    EXPECT_EQ(listed(tick), (std::vector<int>{4712})) << "a new thread without an update has changed nothing";
}

TEST(TickJson, ListsTheThreadsThatCacheMostTiesByTheirNumber) {
    Tick tick = thread_tick();
    tick.threads = {Which::Top, 3};
    EXPECT_EQ(listed(tick), (std::vector<int>{4712, 4715, 4714}));
    tick.threads.top = 99;
    EXPECT_EQ(listed(tick), (std::vector<int>{4712, 4715, 4714, 4713, 4711}));
}

TEST(TickJson, ListsTheThreadsThatChangedMostWhereCpusCache) {
    Tick tick = cpu_tick();
    tick.ledger.tasks[1].net = members(0, -900);
    tick.threads = {Which::Top, 1};
    EXPECT_EQ(listed(tick), (std::vector<int>{4716}));
}

TEST(TickJson, SaysNullWhereNoThreadsAreAskedForAndKeepsTheirSums) {
    Tick tick = thread_tick();
    tick.threads.which = Which::None;
    const ordered_json json = parsed(tick);
    EXPECT_TRUE(json.at("threads").is_null());
    EXPECT_EQ(json.at("updates"), 1'204);
    tick.threads = {Which::Top, 0};
    EXPECT_EQ(parsed(tick).at("threads").dump(), "[]");
}

TEST(TickJson, HasFinalTotalsOfAnEndedProcessAndNothingThatWasNotRead) {
    const ordered_json json = parsed(ended_tick());
    EXPECT_EQ(json.at("state"), "exited");
    EXPECT_EQ(json.at("exact").at("rss"), 0);
    EXPECT_EQ(json.at("flushes"), 314);
    EXPECT_EQ(json.at("exited").at("threads"), 12);
    EXPECT_EQ(json.at("walk"), "gone");
    EXPECT_EQ(json.at("verdict"), "unwalked");
    EXPECT_EQ(json.at("mm").at("tasks"), 0);
    EXPECT_EQ(json.at("window").dump(), R"({"min":0,"max":0,"updates":null})");
    EXPECT_EQ(json.at("residual_causes").dump(), "[]");
    for (const char *each : {"walked", "bound", "lag", "residual"})
        EXPECT_TRUE(json.at(each).is_null()) << each;
    EXPECT_TRUE(json.at("readers").at("stat").at("rss_kb").is_null());
    EXPECT_TRUE(json.at("readers").at("status").at("hwm_kb").is_null());
    Tick unwalked = ended_tick();
    unwalked.process.walk_state = core::WalkState::Skipped;
    EXPECT_EQ(parsed(unwalked).at("walk"), "skipped");
}

TEST(TickJson, HoldsTheWalkOfAMovingProcessAgainstAllThatExactWas) {
    const ordered_json json = parsed(moving_tick());
    EXPECT_EQ(json.at("verdict"), "moving");
    EXPECT_EQ(json.at("window").dump(), R"({"min":20113,"max":20182,"updates":9})");
    EXPECT_EQ(json.at("residual"), 0) << "20,113 walked pages are within the window";
    EXPECT_EQ(json.at("lag"), 122) << "the cached amount of the ledger";
    EXPECT_EQ(json.at("behind"), 122 + 64) << "stat was read earlier than the counters";
    Tick outside = moving_tick();
    outside.process.walk->rss = outside.page_size.kb({20'190});
    EXPECT_EQ(parsed(outside).at("residual"), 8);
    EXPECT_EQ(parsed(outside).at("residual_causes").dump(), R"([{"cause":"moved","pages":8}])");
}

TEST(TickJson, NeverComparesAMovingProcessWithAWalkOfAnEarlierTick) {
    Tick tick = moving_tick();
    tick.stale_walk = true;
    const ordered_json json = parsed(tick);
    EXPECT_EQ(json.at("verdict"), "moving");
    EXPECT_TRUE(json.at("residual").is_null());
    EXPECT_EQ(json.at("walk"), "done");
}

TEST(TickJson, NeverAgreesAfterALossUntilAReadingHasPutItRight) {
    Tick tick = thread_tick();
    tick.lost = 3;
    tick.lost_by["ring"] = 3;
    tick.needs_resync = true;
    ordered_json json = parsed(tick);
    EXPECT_EQ(json.at("verdict"), "moving");
    EXPECT_TRUE(json.at("residual").is_null());
    EXPECT_EQ(json.at("lost"), 3);
    tick.needs_resync = false;
    EXPECT_EQ(parsed(tick).at("verdict"), "agrees");
}

TEST(TickJson, DoesNotWidenAWindowThatWasNotWatched) {
    Tick tick = moving_tick();
    tick.ledger.rss_min = tick.ledger.rss_max = {};
    EXPECT_EQ(parsed(tick).at("window").dump(), R"({"min":20113,"max":20177,"updates":9})");
}

TEST(TickJson, EscapesHostileNamesAndStillParses) {
    for (const std::string &comm :
         {std::string("\x1b]0;x\a"), std::string("\xff\xc0\x80"), std::string("\u202Etxt.exe"),
          std::string("\",\"pid\":1"), std::string("a\0b", 3), std::string("\xed\xa0\x80")}) {
        Tick tick = thread_tick();
        tick.process.comm = tick.ledger.tasks[0].comm = tick.ledger.others[0].comm = comm;
        const std::string json = tick_json(tick);
        EXPECT_TRUE(std::none_of(json.begin(), json.end() - 1, [](char c) {
            return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
        })) << json;
        EXPECT_EQ(json.find("\u202E"), std::string::npos);
        const ordered_json document = ordered_json::parse(json);
        EXPECT_EQ(document.at("pid"), 4711);
        EXPECT_EQ(document.at("comm"), document.at("threads").at(0).at("comm"));
        EXPECT_EQ(document.at("comm"), document.at("others").at(0).at("comm"));
    }
}

TEST(SummaryJson, HasExactlyTheSchemasKeysInItsOrder) {
    const ordered_json summary_schema = schema("summary");
    const ordered_json &properties = summary_schema.at("properties");
    for (const Summary &summary : {thread_summary(), cpu_summary()}) {
        const std::string line = summary_json(summary);
        EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
        const ordered_json json = ordered_json::parse(line);
        EXPECT_EQ(keys(json), required(summary_schema));
        EXPECT_EQ(json.at("schema"), properties.at("schema").at("const"));
        EXPECT_EQ(keys(json.at("own")), required(properties.at("own")));
        EXPECT_EQ(keys(json.at("flush_reasons")),
                  required(summary_schema.at("$defs").at("flush_reasons_" + json.at("scheme").get<std::string>())));
        const ordered_json &process_schema = properties.at("processes").at("items");
        const ordered_json &process = json.at("processes").at(0);
        EXPECT_EQ(keys(process), required(process_schema));
        EXPECT_EQ(keys(process.at("peak_lag")), required(process_schema.at("properties").at("peak_lag")));
        const auto verdicts = required(summary_schema.at("$defs").at("verdicts"));
        EXPECT_EQ(keys(process.at("verdicts")), verdicts);
        const ordered_json &left_out = json.at("processes_left_out");
        EXPECT_EQ(keys(left_out), required(properties.at("processes_left_out")));
        EXPECT_EQ(keys(left_out.at("verdicts")), verdicts);
    }
}

TEST(SummaryJson, SaysWhatTheTraceCameTo) {
    const ordered_json json = ordered_json::parse(summary_json(thread_summary()));
    EXPECT_EQ(json.at("kernel"), "6.1.0-51-amd64");
    EXPECT_EQ(json.at("emitted"), json.at("records").get<int>() + json.at("lost").get<int>());
    EXPECT_EQ(json.at("flush_reasons").dump(), R"({"threshold":301,"zap":8,"exec":0,"exit":5,"direct":20})");
    EXPECT_EQ(json.at("lost_by").dump(), R"({"filter":0,"ring":12})");
    EXPECT_EQ(json.at("at_least"), true);
    EXPECT_EQ(ordered_json::parse(summary_json(cpu_summary())).at("at_least"), false);
    EXPECT_EQ(json.at("ended_not_at_zero"), 1);
    const ordered_json &process = json.at("processes").at(0);
    EXPECT_EQ(process.at("peak_lag").dump(), R"({"pages":6072,"t_ns":12345678901,"approximate":false})");
    EXPECT_EQ(process.at("verdicts").dump(),
              R"({"agrees":3700,"explained":0,"moving":23,"unexplained":0,"unwalked":1})");
}

}  // namespace
}  // namespace rsslag::documents
