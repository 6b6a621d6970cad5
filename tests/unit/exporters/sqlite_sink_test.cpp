// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "../paths.h"
#include "rows.h"

namespace rsslag::exporters {
namespace {

using test::recorded;
using Rows = std::vector<std::vector<std::string>>;

/// A database of the sample, in its own directory.
class SqliteSink : public testing::TestWithParam<core::Scheme> {
  protected:
    void SetUp() override {
        char name[] = "/tmp/rsslag-sqlite-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        directory_ = name;
        all_ = recorded(GetParam());
        all_.ending.missing = {{"damaged", 5, 9, 7}, {"never ended", 20, 30, std::nullopt}};
        const auto sink = sqlite_sink(path());
        const core::Status made = all_.into(*sink);
        ASSERT_TRUE(made.ok()) << made.error().what;
        ASSERT_EQ(sqlite3_open_v2(path().c_str(), &database_, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    }
    void TearDown() override {
        sqlite3_close(database_);
        std::filesystem::remove_all(directory_);
    }

    std::string path() const { return directory_ + "/trace.db"; }

    Rows query(const std::string &sql) {
        Rows rows;
        char *error = nullptr;
        const auto add = [](void *out, int count, char **values, char ** /*names*/) {
            std::vector<std::string> row;
            for (int i = 0; i < count; ++i)
                row.emplace_back(values[i] == nullptr ? "NULL" : values[i]);
            static_cast<Rows *>(out)->push_back(row);
            return 0;
        };
        EXPECT_EQ(sqlite3_exec(database_, sql.c_str(), add, &rows, &error), SQLITE_OK) << sql << ": " << error;
        sqlite3_free(error);
        return rows;
    }
    std::string one(const std::string &sql) {
        const Rows rows = query(sql);
        EXPECT_EQ(rows.size(), 1U) << sql;
        return rows.empty() ? "" : rows[0][0];
    }

    test::Recorded all_;
    std::string directory_;
    sqlite3 *database_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Schemes, SqliteSink, testing::Values(core::Scheme::Thread, core::Scheme::Cpu));

TEST_P(SqliteSink, HasARowForEachRow) {
    EXPECT_EQ(one("SELECT count(*) FROM events"), std::to_string(all_.ending.records));
    EXPECT_EQ(
        one("SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM readings) + (SELECT count(*) FROM walks)"
            " + (SELECT count(*) FROM mappings) + (SELECT count(*) FROM losses) + (SELECT count(*) FROM ticks)"),
        std::to_string(all_.rows.size()));
    EXPECT_EQ(one("SELECT count(*) FROM events JOIN caches ON event_id = id WHERE type IN ('fault', 'sum')"), "2");
    EXPECT_EQ(one("SELECT count(*) FROM events JOIN lives ON event_id = id"), "7");
    EXPECT_EQ(one("SELECT count(*) FROM events JOIN flushes ON event_id = id"), "2");
    EXPECT_EQ(one("PRAGMA integrity_check"), "ok");
    EXPECT_TRUE(query("PRAGMA foreign_key_check").empty());
}

/// A column without a field of its name would be NULL in all rows.
TEST_P(SqliteSink, HasAValueInEachColumnOfSomeRow) {
    std::set<std::string> empty;
    for (const auto &table : query("SELECT name FROM sqlite_master WHERE type = 'table'")) {
        for (const auto &column : query("SELECT name FROM pragma_table_info('" + table[0] + "')")) {
            if (one("SELECT count(\"" + column[0] + "\") FROM " + table[0]) == "0")
                empty.insert(table[0] + '.' + column[0]);
        }
    }
    // The sample has no values for these.
    const bool thread = GetParam() == core::Scheme::Thread;
    const std::set<std::string> unknown{"events.mapping",          thread ? "holders.cpu" : "holders.thread_id",
                                        "lives.old_host_tid",      "mappings.build_id",
                                        "readings.statm",          "readings.status_anon_kb",
                                        "readings.status_file_kb", "readings.status_hwm_kb",
                                        "readings.status_rss_kb",  "readings.status_shmem_kb",
                                        "readings.status_swap_kb", "ticks.behind",
                                        "trace.boot_id",           "trace.host",
                                        "trace.trace_id"};
    EXPECT_EQ(empty, unknown);
}

TEST_P(SqliteSink, IdentifiesTheRecordingInOneRow) {
    EXPECT_EQ(query("SELECT * FROM trace"),
              (Rows{{"NULL", "0", "NULL", "NULL", "6.1.0-rsslag", std::string(core::name(GetParam())), "4", "4096",
                     "2023-11-14T22:13:20.000Z"}}));
}

TEST_P(SqliteSink, SaysWhatTheRowsSay) {
    EXPECT_EQ(query("SELECT type, t_ns, cpu, mm_id, member, pages, cached, flushed, reason, fault, address, known FROM "
                    "events WHERE id = 1"),
              (Rows{{"update", "1", "1", "1", "anon", "1", "1", "100", "NULL", "user", "139637976732212", "1"}}));
    EXPECT_EQ(query("SELECT file, anon, shmem, swap, updates FROM caches ORDER BY event_id"),
              (Rows{{"1", "-2", "3", "4", "NULL"}, {"NULL", "-3", "NULL", "NULL", "12"}}));
    EXPECT_EQ(query("SELECT flushed_shmem, cached_anon, stat FROM readings"), (Rows{{"3", "20", "6"}}));
    EXPECT_EQ(query("SELECT cause, records FROM losses"), (Rows{{"ring_full", "3"}}));
    EXPECT_EQ(query("SELECT lag, exact_rss, walked, residual, verdict FROM ticks WHERE seq = 1"),
              (Rows{{"60", "160", "158", "-2", "explained"}}));
    EXPECT_EQ(query("SELECT pid, state FROM processes ORDER BY id"), (Rows{{"10", "exited"}, {"20", "running"}}));
    EXPECT_EQ(one("SELECT value FROM facts WHERE key = 'kernel'"), "6.1.0-rsslag");
    EXPECT_EQ(one("SELECT value FROM facts WHERE key = 'emitted'"), "15");
    EXPECT_EQ(one("SELECT value FROM facts WHERE key = 'missing'"),
              R"([{"reason":"damaged","from_ns":5,"to_ns":9,"records":7},)"
              R"({"reason":"never ended","from_ns":20,"to_ns":30,"records":null}])");
}

TEST_P(SqliteSink, HoldsWhoCachesAtATick) {
    const Rows most = query(
        "SELECT threads.tid, holders.cpu, holders.rss FROM holders JOIN ticks ON ticks.id = tick_id LEFT JOIN threads "
        "ON "
        "threads.id = holders.thread_id ORDER BY rss DESC LIMIT 1");
    const bool thread = GetParam() == core::Scheme::Thread;
    EXPECT_EQ(most, (thread ? Rows{{"11", "NULL", "50"}} : Rows{{"NULL", "3", "31"}}));
}

TEST_P(SqliteSink, HasHarmlessNames) {
    EXPECT_EQ(one("SELECT comm FROM processes WHERE pid = 20"), "a,\"b\"<&\\x1b[31m\\xe2\\x80\\xae\\x0a\\\\");
}

/// The queries of the manual page: the lines between its .Bd -literal and .Ed that begin with SELECT.
std::vector<std::string> documented_queries() {
    std::ifstream page(source_path("docs/man/rsslag-export.1"));
    std::vector<std::string> queries;
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("SELECT ")) {
            queries.emplace_back();
            inside = true;
        } else if (line.starts_with(".Ed") || line.empty()) {
            inside = false;
        }
        if (inside) queries.back() += line + "\n";
    }
    return queries;
}

TEST_P(SqliteSink, AnswersTheQueriesOfTheManual) {
    const auto queries = documented_queries();
    ASSERT_EQ(queries.size(), 5U);
    std::size_t answered = 0;
    for (const std::string &sql : queries)
        answered += query(sql).empty() ? 0 : 1;
    EXPECT_EQ(answered, queries.size());
    const bool thread = GetParam() == core::Scheme::Thread;
    const Rows holder = query(queries[0]);
    ASSERT_FALSE(holder.empty());
    EXPECT_EQ(holder[0].at(1), thread ? "11" : "NULL");
    EXPECT_EQ(holder[0].at(2), thread ? "NULL" : "3");
}

/// A record of a damaged recording: its task has no known PID.
TEST(SqliteSinkErrors, AcceptsATickOfAnUnknownProcess) {
    const auto sink = sqlite_sink(":memory:");
    ASSERT_TRUE(sink->begin(test::facts()).ok());
    const core::Status put = sink->row(test::tick(test::kSecond, 0, 10, 10));
    EXPECT_TRUE(put.ok()) << put.error().what;
}

TEST(SqliteSinkErrors, SaysWhatIsWrong) {
    const auto sink = sqlite_sink("/no/such/directory/x.db");
    const core::Status begun = sink->begin(test::facts());
    ASSERT_FALSE(begun.ok());
    EXPECT_EQ(begun.error().kind, core::Kind::Io);
    EXPECT_NE(begun.error().what.find("database"), std::string::npos);
}

TEST(SqliteSinkErrors, IsInterruptedWhileTheDatabaseWorks) {
    bool stop = false;
    const auto sink = sqlite_sink(":memory:", [&stop] { return stop; });
    ASSERT_TRUE(sink->begin(test::facts()).ok());
    stop = true;
    core::Status put = core::success();
    constexpr std::uint64_t kMany = 100'000;
    for (std::uint64_t i = 0; i < kMany && put; ++i)
        put = sink->row(test::update(test::kSecond + i, 10, 10, core::Member::Anon, 1));
    EXPECT_FALSE(put.ok());
}

}  // namespace
}  // namespace rsslag::exporters
