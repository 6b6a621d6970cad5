// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "../paths.h"
#include "exporters/row_fields.h"
#include "rows.h"

namespace rsslag::exporters {
namespace {

using nlohmann::ordered_json;
using test::recorded;

using Make = std::unique_ptr<Sink> (*)(Write, Head);

std::string text_of(const test::Recorded &all, Make make, Head head = Head::Yes) {
    std::string text;
    const auto append = [&](std::string_view piece) {
        text += piece;
        return core::success();
    };
    const auto sink = make(append, head);
    EXPECT_TRUE(all.into(*sink).ok());
    return text;
}

std::vector<ordered_json> lines(const std::string &text) {
    std::vector<ordered_json> all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        all.push_back(ordered_json::parse(line));
    return all;
}

/// Parses RFC 4180 without line breaks in fields.
std::vector<std::vector<std::string>> cells(const std::string &text) {
    std::vector<std::vector<std::string>> rows(1);
    std::string field;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted && c == '"' && text[i + 1] == '"') {
            field += text[++i];
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == ',' || c == '\r')) {
            rows.back().push_back(std::exchange(field, ""));
        } else if (!quoted && c == '\n') {
            rows.emplace_back();
        } else {
            field += c;
        }
    }
    rows.pop_back();
    return rows;
}

/// The schema of each type, by its "const".
std::map<std::string, ordered_json> schemas() {
    std::ifstream file(source_path("docs/schema/record.schema.json"));
    const ordered_json schema = ordered_json::parse(file);
    std::map<std::string, ordered_json> by_type;
    for (const ordered_json &each : schema.at("oneOf")) {
        const bool header = each.at("properties").contains("schema");
        by_type[header ? "" : each.at("properties").at("type").at("const").get<std::string>()] = each;
    }
    return by_type;
}

std::vector<std::string> keys(const ordered_json &object) {
    std::vector<std::string> keys;
    for (const auto &item : object.items())
        keys.push_back(item.key());
    return keys;
}

TEST(Jsonl, IsAHeaderAndThenALineARow) {
    const test::Recorded all = recorded();
    const auto documents = lines(text_of(all, jsonl_sink));
    ASSERT_EQ(documents.size(), all.rows.size() + 1);
    EXPECT_EQ(documents[0].at("schema"), "rsslag.record/2");
    EXPECT_EQ(documents[0].at("kernel"), "6.1.0-rsslag");
    EXPECT_EQ(documents[0].at("host"), nullptr);
    for (std::size_t i = 0; i < all.rows.size(); ++i)
        EXPECT_EQ(documents[i + 1].at("type"), type_name(all.rows[i]));
}

TEST(Jsonl, EveryTypeHasTheKeysOfItsSchema) {
    auto by_type = schemas();
    test::Recorded all = recorded();
    all.ending.missing = {{"a part of it is damaged", 5, 9, std::nullopt}};
    const auto documents = lines(text_of(all, jsonl_sink));
    std::set<std::string> seen;
    for (const ordered_json &document : documents) {
        const std::string type = document.value("type", "");
        ASSERT_EQ(by_type.count(type), 1U) << type;
        const ordered_json &schema = by_type[type];
        EXPECT_EQ(keys(document), keys(schema.at("properties"))) << type;
        EXPECT_EQ(schema.at("required").get<std::vector<std::string>>(), keys(schema.at("properties"))) << type;
        EXPECT_EQ(schema.at("additionalProperties"), false) << type;
        seen.insert(type);
    }
    EXPECT_EQ(seen.size(), by_type.size()) << "the sample must contain every type";
}

TEST(Jsonl, SaysWhatTheRowsSay) {
    const auto documents = lines(text_of(recorded(), jsonl_sink));
    const ordered_json &faulted = documents.at(1);
    EXPECT_EQ(faulted.at("address"), "0x7f0000001234");
    EXPECT_EQ(faulted.at("fault"), "user");
    EXPECT_EQ(faulted.at("mm"), "1");
    EXPECT_EQ(faulted.at("pages"), 1);
    EXPECT_EQ(faulted.at("reason"), nullptr);
    EXPECT_EQ(documents.at(2).at("reason"), "threshold");
    EXPECT_EQ(documents.at(3).at("pages"), nullptr);
    EXPECT_EQ(documents.at(4).at("cached_anon"), -2);
    EXPECT_EQ(documents.at(4).at("cached_rss"), 2);
    EXPECT_EQ(documents.at(5).at("cached_file"), nullptr);
    EXPECT_EQ(documents.at(5).at("cached_anon"), -3);
    EXPECT_EQ(documents.at(6).at("exact_swap"), 44);
    EXPECT_EQ(documents.at(6).at("stat_rss_kb"), 24);
    EXPECT_EQ(documents.at(8).at("cause"), "ring_full");
    EXPECT_EQ(documents.at(8).at("pid"), nullptr);
}

TEST(Jsonl, HasNoNameForAMemberThatIsNotKnown) {
    test::Recorded all = recorded();
    auto &row = std::get<UpdateRow>(all.rows.at(0));
    row.member.reset();
    row.flushed.reset();
    const ordered_json document = lines(text_of(all, jsonl_sink)).at(1);
    EXPECT_EQ(document.at("member"), nullptr);
    EXPECT_EQ(document.at("flushed"), nullptr);
}

TEST(Jsonl, IdentifiesTheRecordingInEachRow) {
    test::Recorded all = recorded();
    all.head.host = "alpha,\"1\"";
    all.head.boot_id = "b";
    all.head.trace_id = "t";
    all.head.segment = 3;
    all.ending.missing = {{"a part of it is damaged", 5, 9, 7}};
    const auto documents = lines(text_of(all, jsonl_sink, Head::No));
    ASSERT_EQ(documents.size(), all.rows.size() + 1) << "all rows and the missing part, without a header";
    for (const ordered_json &row : documents) {
        EXPECT_EQ(row.at("host"), "alpha,\"1\"");
        EXPECT_EQ(row.at("boot_id"), "b");
        EXPECT_EQ(row.at("trace_id"), "t");
        EXPECT_EQ(row.at("segment"), 3);
        EXPECT_EQ(row.at("kernel"), "6.1.0-rsslag");
        EXPECT_EQ(row.at("scheme"), "thread");
        EXPECT_EQ(row.at("cpus_online"), 4);
        EXPECT_EQ(row.at("page_size"), 4096);
        EXPECT_EQ(row.at("start_time"), "2023-11-14T22:13:20.000Z");
    }
    EXPECT_EQ(documents.back().at("type"), "missing");
    EXPECT_EQ(documents.back().at("records"), 7);
    all.head.trace_id = "";
    EXPECT_EQ(lines(text_of(all, jsonl_sink)).back().at("trace_id"), nullptr) << "older recordings have no trace id";
}

TEST(Csv, WithoutItsHeadIsRowsAlone) {
    const test::Recorded all = recorded();
    const std::string whole = text_of(all, csv_sink);
    EXPECT_EQ(text_of(all, csv_sink, Head::No), whole.substr(whole.find('\n') + 1));
}

TEST(Csv, HasTheSameRowsAndValues) {
    test::Recorded all = recorded();
    all.head.host = "alpha,\"1\"";
    all.head.trace_id = "t";
    all.ending.missing = {{"a part of it, \"damaged\"", 5, 9, std::nullopt}};
    const auto documents = lines(text_of(all, jsonl_sink));
    const std::string text = text_of(all, csv_sink);
    const auto rows = cells(text);
    ASSERT_EQ(rows.size(), all.rows.size() + 2);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), static_cast<std::ptrdiff_t>(rows.size()));
    for (std::size_t i = 1; i < rows.size(); ++i) {
        ASSERT_EQ(rows[i].size(), kColumns) << i;
        for (std::size_t column = 0; column < kColumns; ++column) {
            const ordered_json value = documents[i].value(rows[0][column], ordered_json());
            const std::string expected = value.is_null()     ? ""
                                         : value.is_string() ? value.get<std::string>()
                                                             : value.dump();
            EXPECT_EQ(rows[i][column], expected) << i << ' ' << rows[0][column];
        }
    }
}

TEST(TextSinks, LetNoNameThroughRaw) {
    for (const auto make : {jsonl_sink, csv_sink}) {
        const std::string text = text_of(recorded(), make);
        EXPECT_EQ(text.find('\x1b'), std::string::npos);
        EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
        EXPECT_NE(text.find("x1b[31m"), std::string::npos);
    }
    const auto document = lines(text_of(recorded(), jsonl_sink)).at(9);
    EXPECT_EQ(document.at("comm"), "a,\"b\"<&\\x1b[31m\\xe2\\x80\\xae\\x0a\\\\");
}

TEST(TextSinks, HandOnAnErrorAtOnce) {
    for (const auto make : {jsonl_sink, csv_sink}) {
        int calls = 0;
        const auto fail = [&](std::string_view) -> core::Status {
            ++calls;
            return core::Error{core::Kind::Io, "full", 0, ""};
        };
        const auto sink = make(fail, Head::Yes);
        ASSERT_TRUE(sink->begin(test::facts()).ok());
        const Row row = test::update(1, 1, 1, core::Member::Anon, 1);
        core::Status reported = core::success();
        for (int i = 0; i < 100'000 && reported.ok(); ++i)
            reported = sink->row(row);
        EXPECT_FALSE(reported.ok());
        EXPECT_EQ(calls, 1);
    }
}

TEST(TextSinks, WriteNoRowTwiceAndNoneLess) {
    std::string text;
    const auto sink = jsonl_sink([&](std::string_view piece) {
        text += piece;
        return core::success();
    });
    ASSERT_TRUE(sink->begin(test::facts()).ok());
    constexpr std::uint64_t kRows = 20'000;  // many times the size of the buffer
    for (std::uint64_t i = 0; i < kRows; ++i)
        ASSERT_TRUE(sink->row(test::update(i, 1, 1, core::Member::Anon, 1)).ok());
    ASSERT_TRUE(sink->end({}).ok());
    const auto documents = lines(text);
    ASSERT_EQ(documents.size(), kRows + 1);
    for (std::uint64_t i = 0; i < kRows; ++i)
        ASSERT_EQ(documents[i + 1].at("t_ns"), i);
}

}  // namespace
}  // namespace rsslag::exporters
