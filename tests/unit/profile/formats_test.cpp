// SPDX-License-Identifier: BSD-2-Clause
#include "profile/formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace rsslag::profile {
namespace {

/// Thread 11 of "a;b" touched 40 pages in main > touch, and dropped 4 in a stack that breaks off.
Profile profile() {
    Profile all;
    all.period = 1;
    all.frames = {{"touch", "/bin/x", {}, 1}, {"", "/lib/libc.so.6", {}, 2}, {"main", "/bin/x", {}, 3}};
    all.stacks = {{{0, 2}, core::StackEnd::Outermost}, {{1}, core::StackEnd::Cut}};
    all.flows = {{0, Reason::PageFault, 10, 11, {40, 0, 30, 0, 2}}, {1, Reason::Madvise, 10, 11, {0, 4, 0, 0, 1}}};
    all.threads = {{10, 11, "a;b", {40, 4}, {}}, {10, 12, "", {1, 0}, {1, 0}}};
    return all;
}

std::string text_of(core::Status (*put)(const Profile &, const exporters::Facts &, const exporters::Write &),
                    const Profile &profile) {
    std::string all;
    EXPECT_TRUE(put(profile, {}, [&all](std::string_view text) { return all += text, core::success(); }));
    return all;
}

TEST(Folded, OutermostFirstInKilobytes) {
    EXPECT_EQ(text_of(folded, profile()),
              "came;a:b;main;touch 160\n"
              "came;(unknown);(no sample) 4\n"
              "went;a:b;(cut);[libc.so.6];[madvise] 16\n"
              "resident;a:b;main;touch 120\n");
}

TEST(Speedscope, ThreeProfiles) {
    const auto json = nlohmann::json::parse(text_of(speedscope, profile()));
    EXPECT_EQ(json["shared"]["frames"][1]["name"], "[libc.so.6]");
    const auto &came = json["profiles"][0];
    EXPECT_EQ(came["samples"], nlohmann::json::parse("[[2,0],[5]]"));
    EXPECT_EQ(came["weights"], nlohmann::json::parse("[163840,4096]"));
    EXPECT_EQ(came["endValue"], 167'936);
    EXPECT_EQ(json["shared"]["frames"][5]["name"], "(no sample)");
    EXPECT_EQ(json["profiles"][1]["weights"], nlohmann::json::parse("[16384]"));
    EXPECT_EQ(json["profiles"][1]["samples"], nlohmann::json::parse("[[3,1,4]]"));
    EXPECT_EQ(json["shared"]["frames"][3]["name"], "(cut)");
    EXPECT_EQ(json["shared"]["frames"][4]["name"], "[madvise]");
    EXPECT_EQ(json["profiles"][2]["weights"], nlohmann::json::parse("[122880]"));
}

TEST(Pprof, SaysWhyAStackIsNotWhole) {
    const std::string bytes = text_of(pprof, profile());
    for (const char *text : {"main", "touch", "/lib/libc.so.6", "stack", "cut", "madvise"})
        EXPECT_NE(bytes.find(text), std::string::npos) << text;
}

/// A document of any size needs the memory of one piece, and an error of the reader ends it.
TEST(Formats, AreWrittenInPieces) {
    Profile many = profile();
    for (int i = 0; i < 30'000; ++i)
        many.flows.push_back(many.flows[static_cast<std::size_t>(i % 2)]);
    for (int i = 0; i < 30'000; ++i)
        many.frames.push_back(many.frames.front());
    for (const auto put : {folded, pprof, speedscope}) {
        std::size_t largest = 0, all = 0;
        EXPECT_TRUE(put(many, {}, [&](std::string_view text) {
            largest = std::max(largest, text.size());
            all += text.size();
            return core::success();
        }));
        EXPECT_LT(largest, exporters::kFullBuffer + 4'096);
        EXPECT_GT(all, 2 * exporters::kFullBuffer);
        int calls = 0;
        const core::Status failed = put(many, {}, [&calls](std::string_view) {
            ++calls;
            return core::Status(core::Error{core::Kind::Io, "cannot write", 28, ""});
        });
        EXPECT_FALSE(failed);
        EXPECT_EQ(calls, 1);
    }
}

TEST(Speedscope, HasLinesOfSource) {
    Profile all = profile();
    all.frames[0].source = "x.c";
    all.frames[0].line = 7;
    const auto frames = nlohmann::json::parse(text_of(speedscope, all))["shared"]["frames"];
    EXPECT_EQ(frames[0], nlohmann::json::parse(R"({"name":"touch","file":"x.c","line":7})"));
    EXPECT_EQ(frames[2], nlohmann::json::parse(R"({"name":"main","file":"/bin/x"})"));
}

TEST(Perfetto, HasTheHeapsOfEachProcess) {
    const std::string bytes = perfetto_heaps(profile(), {}, 5);
    for (const char *text : {"main", "touch", "[libc.so.6]", "(cut)", "[madvise]", "(no sample)", "lib/libc.so.6",
                             "pages that came", "pages that went", "pages that are still resident"})
        EXPECT_NE(bytes.find(text), std::string::npos) << text;
    EXPECT_EQ(bytes.find("[page_fault]"), std::string::npos);
}

TEST(Sink, RefusesARecordingWithoutSamples) {
    std::string out;
    const auto made = sink("folded", [&out](std::string_view text) { return out += text, core::success(); });
    ASSERT_NE(made, nullptr);
    EXPECT_FALSE(made->begin({}).ok());
    EXPECT_EQ(sink("jsonl", nullptr), nullptr);
}

}  // namespace
}  // namespace rsslag::profile
