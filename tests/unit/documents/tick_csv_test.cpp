// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ticks.h"

namespace rsslag::documents {
namespace {

using test::cpu_tick;
using test::ended_tick;
using test::moving_tick;
using test::thread_tick;

/// Parses one row according to RFC 4180.
std::vector<std::string> fields(const std::string &row) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (std::size_t i = 0; i + 2 < row.size() || (i < row.size() && row[i] != '\r'); ++i) {
        const char c = row[i];
        if (quoted && c == '"' && row[i + 1] == '"') {
            fields.back() += row[++i];
        } else if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            fields.emplace_back();
        } else {
            fields.back() += c;
        }
    }
    return fields;
}

std::map<std::string, std::string> named(const Tick &tick) {
    const std::vector<std::string> names = fields(csv_header());
    const std::vector<std::string> values = fields(tick_csv(tick));
    EXPECT_EQ(names.size(), values.size());
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < names.size() && i < values.size(); ++i)
        EXPECT_TRUE(row.emplace(names[i], values[i]).second) << names[i] << " appears twice";
    return row;
}

TEST(TickCsv, HasOneRowThatEndsAsTheRfcHasIt) {
    for (const std::string &row : {csv_header(), tick_csv(thread_tick()), tick_csv(ended_tick())}) {
        ASSERT_GT(row.size(), 2U);
        EXPECT_EQ(row.substr(row.size() - 2), "\r\n");
        EXPECT_EQ(std::count(row.begin(), row.end(), '\n'), 1);
    }
}

TEST(TickCsv, HasAValueForEachColumnWhateverTheTick) {
    for (const Tick &tick : {thread_tick(), cpu_tick(), ended_tick(), moving_tick()})
        EXPECT_EQ(named(tick).size(), fields(csv_header()).size());
}

TEST(TickCsv, SaysWhatTheTickSays) {
    auto row = named(thread_tick());
    EXPECT_EQ(row["time"], "2024-06-07T12:00:00.042Z");
    EXPECT_EQ(row["pid"], "4711");
    EXPECT_EQ(row["comm"], "hundred");
    EXPECT_EQ(row["state"], "running");
    EXPECT_EQ(row["stat_rss_kb"], "79964");
    EXPECT_EQ(row["walked_rss_kb"], "80452");
    EXPECT_EQ(row["flushed_rss"], "19991");
    EXPECT_EQ(row["cached_anon"], "115");
    EXPECT_EQ(row["exact_swap"], "301");
    EXPECT_EQ(row["exact_rss"], "20113");
    EXPECT_EQ(row["bound_rss"], "320");
    EXPECT_EQ(row["lag"], "122");
    EXPECT_EQ(row["residual"], "0");
    EXPECT_EQ(row["verdict"], "agrees");
    EXPECT_EQ(row["updates"], "1204");
    EXPECT_EQ(row["flushes"], "314");
    EXPECT_EQ(row["lost"], "0");
    EXPECT_EQ(row["own_cpu_percent"], "0.31");
    EXPECT_EQ(row["own_bpf_ns_per_event"], "121.40");
}

TEST(TickCsv, LeavesAFieldEmptyWhereTheValueIsUnknown) {
    auto row = named(ended_tick());
    for (const char *unknown : {"stat_rss_kb", "status_hwm_kb", "walked_rss_kb", "walked_age_ms", "bound_rss", "lag",
                                "window_updates", "residual"})
        EXPECT_EQ(row[unknown], "") << unknown;
    EXPECT_EQ(row["state"], "exited");
    EXPECT_EQ(row["verdict"], "unwalked");
    EXPECT_EQ(row["exact_rss"], "0");
}

TEST(TickCsv, NeverAgreesAfterALoss) {
    Tick tick = thread_tick();
    tick.needs_resync = true;
    auto row = named(tick);
    EXPECT_EQ(row["verdict"], "moving");
    EXPECT_EQ(row["residual"], "");
}

TEST(TickCsv, QuotesHostileNamesAndKeepsTheRowWhole) {
    const auto comm = [](const std::string &name) {
        Tick tick = thread_tick();
        tick.process.comm = name;
        const std::string row = tick_csv(tick);
        EXPECT_TRUE(std::none_of(row.begin(), row.end() - 2, [](char c) {
            return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
        })) << row;
        return named(tick)["comm"];
    };
    EXPECT_EQ(comm("a,b"), "a,b");
    EXPECT_EQ(comm("say \"hi\""), "say \"hi\"");
    EXPECT_EQ(comm("\",1,2,\""), "\",1,2,\"");
    EXPECT_EQ(comm("x\r\n0,0"), "x\\x0d\\x0a0,0");
    EXPECT_EQ(comm("\x1b[2J\u202E\xff"), "\\x1b[2J\\xe2\\x80\\xae\\xff");
}

}  // namespace
}  // namespace rsslag::documents
