// SPDX-License-Identifier: BSD-2-Clause
#include "report/stacks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/flame_svg.h"
#include "report/report.h"

namespace rsslag::report {
namespace {

constexpr core::PageSize kPage{4096};

/// main calls touch, which calls itself and came to 256 pages; a thread of 3 pages has no sample.
profile::Profile profile() {
    profile::Profile all;
    all.period = 64;
    all.samples = 4;
    all.frames = {{"touch<int>", "/bin/x", {}, 1}, {"main", "/bin/x", {}, 2}};
    all.stacks = {{{0, 0, 1}, core::StackEnd::Outermost}};
    all.flows = {{0, profile::Reason::PageFault, 10, 11, {256, 0, 200, 0, 4}}};
    all.threads = {{10, 11, "x", {256, 0}, {}}, {10, 12, "y", {0, 3}, {0, 3}}};
    return all;
}

std::string stacks_of(const profile::Profile &profile) {
    std::string all;
    const exporters::Write write = [&all](std::string_view text) { return all += text, core::success(); };
    exporters::Pieces out(write);
    put_stacks_json(out, profile);
    EXPECT_TRUE(out.end());
    return all;
}

TEST(Stacks, RecursionCountsOnce) {
    const std::vector<profile::Line> all = profile::lines(profile(), profile::By::Function);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].name, "main");
    EXPECT_EQ(all[0].self.came, 0);
    EXPECT_EQ(all[1].name, "touch<int>");
    EXPECT_EQ(all[1].all.came, 256);
    EXPECT_EQ(all[1].self.came, 256);
    EXPECT_EQ(all[2].name, "(no sample)");
    EXPECT_EQ(all[2].all.went, 3);
}

TEST(Stacks, ByModuleAndThread) {
    EXPECT_EQ(profile::lines(profile(), profile::By::Module).at(0).name, "/bin/x");
    EXPECT_EQ(profile::lines(profile(), profile::By::Module).at(0).self.came, 256);
    EXPECT_EQ(profile::lines(profile(), profile::By::Thread).at(0).name, "11 x");
}

TEST(Stacks, Text) {
    const std::string text = stacks_text(profile(), profile::By::Function, 1, kPage, {});
    EXPECT_NE(text.find("       1,024           0       1,024         800           0        4  main\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("and 2 more\n"), std::string::npos) << text;
    ReportStyle pages;
    pages.pages = core::as_pages;
    const std::string in_pages = stacks_text(profile(), profile::By::Function, 1, kPage, pages);
    EXPECT_NE(in_pages.find("     CAME pages     WENT pages      NET pages RESIDENT pages     SELF pages  SAMPLES"),
              std::string::npos)
        << in_pages;
    EXPECT_NE(
        in_pages.find("            256              0            256            200              0        4  main\n"),
        std::string::npos)
        << in_pages;
    EXPECT_NE(stacks_text({}, profile::By::Module, 9, kPage, {}).find("the recording has no stacks"),
              std::string::npos);
}

TEST(Stacks, AreMarkedIfRecordsOfCountersWereLost) {
    profile::Profile all = profile();
    EXPECT_EQ(stacks_text(all, profile::By::Function, 9, kPage, {}).find('~'), std::string::npos);
    EXPECT_NE(stacks_of(all).find(R"("approximate":false)"), std::string::npos);
    all.lossy = true;
    const std::string text = stacks_text(all, profile::By::Function, 9, kPage, {});
    for (const char *const part : {"records were lost", "~CAME kB", "~WENT kB", "~NET kB", "~SELF kB"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    EXPECT_NE(stacks_of(all).find(R"("approximate":true)"), std::string::npos);
}

TEST(Stacks, TextMarksWhatMayBeResident) {
    profile::Profile all = profile();
    all.flows[0].flow.unknown = 6;
    EXPECT_NE(stacks_text(all, profile::By::Function, 9, kPage, {}).find("        ≥800 "), std::string::npos);
    ReportStyle ascii;
    ascii.utf8 = false;
    EXPECT_NE(stacks_text(all, profile::By::Function, 9, kPage, ascii).find("       >=800 "), std::string::npos);
    all.flows[0].flow.unknown = 256;
    EXPECT_NE(stacks_text(all, profile::By::Function, 9, kPage, {}).find("       1,024           –"),
              std::string::npos);
}

TEST(Stacks, TextShowsHowManyAreWhole) {
    profile::Profile all = profile();
    EXPECT_EQ(stacks_text(all, profile::By::Function, 9, kPage, {}).find("whole"), std::string::npos);
    all.stacks.push_back({{1}, core::StackEnd::Cut});
    all.flows.push_back({1, profile::Reason::PageFault, 10, 11, {1, 0, 0, 0, 1}});
    const auto text = [&all] { return stacks_text(all, profile::By::Function, 9, kPage, {}); };
    EXPECT_NE(text().find("; 80.0 % of the stacks are whole; "), std::string::npos) << text();
    all.stacks.push_back({{1}, core::StackEnd::NoCopy});
    all.flows.push_back({2, profile::Reason::Exit, 10, 11, {0, 7, 0, 0, 5}});
    EXPECT_NE(text().find("; 80.0 % of the stacks are whole, not counting 5 of exits and execs; "), std::string::npos)
        << text();
    all.flows.back().reason = profile::Reason::PageFault;
    EXPECT_NE(text().find("; 40.0 % of the stacks are whole; "), std::string::npos) << text();
}

TEST(Stacks, ByReason) {
    profile::Profile all = profile();
    all.flows.push_back({0, profile::Reason::Munmap, 10, 11, {0, 9, 0, 0, 1}});
    const std::vector<profile::Line> by_reason = profile::lines(all, profile::By::Reason);
    EXPECT_EQ(by_reason.at(0).name, "page_fault");
    EXPECT_EQ(by_reason.at(1).name, "munmap");
    EXPECT_EQ(by_reason.at(1).self.went, 9);
    const auto json = nlohmann::json::parse("{" + stacks_of(all) + "}");
    EXPECT_EQ(json["stacks"][1]["reason"], "munmap");
    Report report;
    report.stacks = all;
    EXPECT_NE(flame_svg(report).find("<title>[munmap]: 36 kB"), std::string::npos);
}

TEST(Stacks, ByFunctionOfTheKernel) {
    profile::Profile all = profile();
    all.frames.push_back({"zap_pte_range", "[kernel]", {}, 0xffff'ffff'8100'0010});
    all.stacks.push_back({{1}, core::StackEnd::Outermost, {static_cast<std::uint32_t>(all.frames.size() - 1)}});
    all.flows.push_back({all.stacks.size() - 1, profile::Reason::Munmap, 10, 11, {0, 9, 0, 0, 1}});
    const std::vector<profile::Line> by_kernel = profile::lines(all, profile::by_of("kernel"));
    EXPECT_EQ(by_kernel.at(0).name, "(page_fault)");
    EXPECT_EQ(by_kernel.at(1).name, "zap_pte_range");
    EXPECT_EQ(by_kernel.at(1).all.went, 9);
    EXPECT_NE(stacks_text(all, profile::By::Kernel, 9, kPage, {}).find("  KERNEL FUNCTION\n"), std::string::npos);
    const auto json = nlohmann::json::parse("{" + stacks_of(all) + "}");
    EXPECT_EQ(json["stacks"][1]["kernel"][0]["function"], "zap_pte_range");
    EXPECT_EQ(json["stacks"][1]["kernel"][0]["module"], "[kernel]");
    EXPECT_EQ(json["stacks"][0]["kernel"], nlohmann::json::array());
}

TEST(Stacks, Json) {
    const auto json = nlohmann::json::parse("{" + stacks_of(profile()) + "}");
    EXPECT_EQ(json["sampling"]["period"], 64);
    const auto &stack = json["stacks"][0];
    EXPECT_EQ(stack["came"], 256);
    EXPECT_EQ(stack["net"], 256);
    EXPECT_EQ(stack["resident"], 200);
    EXPECT_EQ(stack["threads"], nlohmann::json::parse("[11]"));
    EXPECT_EQ(stack["frames"][2]["function"], "main");
    EXPECT_EQ(stack["frames"][2]["module"], "/bin/x");
    EXPECT_EQ(stack["frames"][2]["build_id"], nullptr);
    EXPECT_EQ(stack["frames"][2]["file"], nullptr);
    EXPECT_EQ(stack["frames"][2]["line"], nullptr);
    profile::Profile with_source = profile();
    with_source.frames[0] = {"touch<int>", "/bin/x", {}, 1, "x.cpp", 7, true};
    const auto inlined = nlohmann::json::parse("{" + stacks_of(with_source) + "}")["stacks"][0]["frames"][0];
    EXPECT_EQ(inlined["file"], "x.cpp");
    EXPECT_EQ(inlined["line"], 7);
    EXPECT_EQ(inlined["inlined"], true);
    EXPECT_EQ(json["stacks"][1]["frames"].size(), 0U);
    EXPECT_EQ(json["stacks"][1]["net"], -3);
    profile::Profile unknown = profile();
    unknown.flows[0].flow.unknown = 1;
    const auto unknown_json = nlohmann::json::parse("{" + stacks_of(unknown) + "}");
    EXPECT_EQ(unknown_json["stacks"][0]["resident"], nullptr);
    EXPECT_EQ(unknown_json["stacks"][0]["resident_min"], 200);
    EXPECT_EQ(nlohmann::json::parse("{" + stacks_of({}) + "}")["stacks"], nullptr);
}

TEST(FlameSvg, BoxesHaveTheSharesOfTheirStacks) {
    Report report;
    report.stacks = profile();
    const std::string svg = flame_svg(report);
    EXPECT_NE(svg.find("<title>touch&lt;int&gt;: 1,024 kB, 100.0 %, 4 samples</title>"), std::string::npos) << svg;
    EXPECT_NE(svg.find("Pages that came"), std::string::npos);
    EXPECT_NE(svg.find("<title>main: 800 kB, 100.0 %, 4 samples</title>"), std::string::npos);
    EXPECT_NE(svg.find("<title>(no sample): 12 kB, 100.0 %, 0 samples</title>"), std::string::npos);
    EXPECT_NE(flame_svg({}).find("the recording has no stacks"), std::string::npos);
    EXPECT_EQ(svg.find("are left out"), std::string::npos);
    const std::string small = flame_svg(report, nullptr, 500);
    EXPECT_NE(small.find(" px are left out"), std::string::npos);
    EXPECT_LT(small.size(), svg.size());
}

/// In the older recording main calls free_all, too, and touch came to half of the pages.
TEST(FlameSvg, ShowsWhatChanged) {
    Report report, older;
    report.stacks = older.stacks = profile();
    older.stacks.flows[0].flow = {128, 0, 200, 0, 2};
    older.stacks.frames.push_back({"old", "/bin/x", {}, 1});
    older.stacks.stacks.push_back({{2, 1}, core::StackEnd::Outermost});
    older.stacks.flows.push_back({1, profile::Reason::PageFault, 10, 11, {64, 0, 0, 0, 1}});
    const std::string svg = flame_svg(report, &older);
    const auto box = [&svg](const std::string &title) {
        const std::size_t at = svg.find("<title>" + title + "</title>");
        EXPECT_NE(at, std::string::npos) << title << '\n' << svg;
        return svg.substr(at, svg.find("</g>", at) - at);
    };
    const std::string more = box("touch&lt;int&gt;: 1,024 kB, 100.0 %, 4 samples; older: 512 kB");
    EXPECT_NE(more.find(R"(width="928.000")"), std::string::npos) << "256 of 320 pages: what only the older has, too";
    EXPECT_NE(more.find("hsl(8 80% 60%)"), std::string::npos) << "the largest change";
    EXPECT_NE(box("old: 0 kB, 0.0 %, 0 samples; older: 256 kB").find("hsl(212 80% 76%)"), std::string::npos);
    EXPECT_NE(box("main: 1,024 kB, 100.0 %, 4 samples; older: 768 kB").find("hsl(8 80%"), std::string::npos);
    EXPECT_NE(box("main: 800 kB, 100.0 %, 4 samples; older: 800 kB").find("hsl(0 0% 92%)"), std::string::npos);
    EXPECT_NE(svg.find("Pages that came; red: more than in the older recording, blue: less"), std::string::npos);
    EXPECT_NE(flame_svg(report, &report).find("hsl(0 0% 92%)"), std::string::npos) << "nothing changed";
    older.facts.machine.page_size.bytes = 2 * report.facts.machine.page_size.bytes;
    EXPECT_NE(flame_svg(report, &older).find("touch&lt;int&gt;: 1,024 kB, 100.0 %, 4 samples; older: 1,024 kB"),
              std::string::npos);
}

}  // namespace
}  // namespace rsslag::report
