// SPDX-License-Identifier: BSD-2-Clause
#include "documents/maps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "expected.h"
#include "golden.h"
#include "mapped.h"

namespace rsslag::documents {
namespace {

using core::Kilobytes;
using nlohmann::json;
using test::ascii_style;
using test::is_golden;
using test::maps_document;

bool harmless(const std::string &text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= 0x20 && c != 0x7F); });
}

std::string text_of(const MapsDocument &document, const MapsChoices &choices = {}) {
    return maps_text(document, document.processes.at(0), choices, ascii_style());
}

const TopRow &row(const std::vector<TopRow> &rows, std::string_view column) {
    return *std::ranges::find(rows, column, &TopRow::column);
}

TEST(MapsText, HasItsFourTables) {
    EXPECT_TRUE(is_golden(text_of(maps_document()), "maps.txt"));
}

TEST(MapsText, SaysWhyThereIsNothingExact) {
    MapsDocument document = maps_document();
    document.counted = false;
    document.processes[0].reading.reset();
    document.processes[0].why_not_exact = "missing CAP_BPF";
    EXPECT_TRUE(is_golden(text_of(document), "maps_without_counters.txt"));
}

TEST(MapsText, NamesTheProgramAsItWasStarted) {
    MapsDocument document = maps_document();
    document.processes[0].program = "/usr/bin/link";
    EXPECT_TRUE(text_of(document).starts_with("server [4711]  /usr/bin/link  7 mappings"));
    const json process = json::parse(maps_json(document, {}))["processes"][0];
    EXPECT_EQ(process["exe"], "/usr/bin/server");
    EXPECT_EQ(process["program"], "/usr/bin/link");
}

TEST(MapsText, ShowsWhatWasGivenUpAndWhatRssDoesNotInclude) {
    MapsDocument document = maps_document();
    EXPECT_EQ(text_of(document).find("LazyFree"), std::string::npos);
    EXPECT_EQ(text_of(document).find("\nhugetlb"), std::string::npos);
    procfs::MapSums &sums = document.processes[0].sums;
    sums.lazy_free = sums.droppable_anon = {4};
    sums.droppable = sums.droppable_file + sums.droppable_anon;
    sums.private_hugetlb = {4096};
    sums.shared_hugetlb = {2048};
    sums.hugetlb = {6144};
    const std::string text = text_of(document);
    for (const char *const line :
         {"\nLazyFree                          4  released", "private 4,096 kB, shared 2,048 kB\n",
          "\nhugetlb                       6,144  not in Rss: private", "\ndroppable, at most              392  ",
          "\n  of files                      388  ", "\n  anonymous                       4  "})
        EXPECT_NE(text.find(line), std::string::npos) << line << text;
    const std::string look = look_text(document, document.processes[0], ascii_style());
    EXPECT_NE(look.find("LazyFree 4 kB  hugetlb (not in Rss) 6,144 kB\n"), std::string::npos) << look;
    const json result = json::parse(maps_json(document, {}))["processes"][0]["sums"];
    EXPECT_EQ(result["private_hugetlb_kb"], 4096);
    EXPECT_EQ(result["droppable_anon_kb"], 4);
}

TEST(MapsText, ShowsARangeOfWhatIsDroppableIfAPageMayCountTwice) {
    MapsDocument document = maps_document();
    procfs::MapSums &sums = document.processes[0].sums;
    sums.droppable = {18'392};
    sums.droppable_surely_once = {10'200};
    sums.droppable_each_once = false;
    EXPECT_NE(
        text_of(document).find("\ndroppable, at most    10,200-18,392  what reclaim can take without a write; pages "),
        std::string::npos)
        << text_of(document);
    EXPECT_EQ(json::parse(maps_json(document, {}))["processes"][0]["sums"]["droppable_surely_once_kb"], 10'200);
}

/// [heap] came by two stacks, server by one without functions.
MapsDocument sampled_document() {
    MapsDocument document = maps_document();
    auto recording = std::make_shared<memory::SampledRecording>();
    recording->file = "trace\x1b.rsslag";
    recording->period = 64;
    recording->end = document.time;
    recording->stacks = {{"parse", "load", "serve", "loop", "main"}, {"\x1b[1m"}, {}};
    MappedProcess &process = document.processes[0];
    process.stacks = memory::RowStacks{
        std::move(recording), {{0x600000, 3, 0, ""}, {0x601000, 1, 1, ""}, {0x400000, 1, 2, ""}}, {}, {}};
    memory::find_top_stacks(*process.stacks, process.groups, process.mappings);
    return document;
}

TEST(MapsText, ShowsTheStackByWhichMostPagesOfARowCame) {
    const MapsDocument document = sampled_document();
    const std::string indent(79, ' ');
    const std::string groups = text_of(document);
    EXPECT_NE(groups.find("  [heap]\n" + indent + "75 % by parse < load < serve < loop\n"), std::string::npos)
        << groups;
    EXPECT_NE(groups.find("  /usr/bin/server\n" + indent + "100 % by (no stack)\n"), std::string::npos) << groups;
    EXPECT_NE(groups.find("\nStacks: of 3 sampled pages that are resident, one in 64. trace\\x1b.rsslag has nothing "
                          "that came after "),
              std::string::npos)
        << groups;
    MapsChoices choices;
    choices.each = true;
    const std::string each = text_of(document, choices);
    EXPECT_NE(each.find("  [heap]\n"), std::string::npos);
    EXPECT_EQ(each.find("75 % by") - each.rfind('\n', each.find("75 % by")),
              each.find("[heap]") - each.rfind('\n', each.find("[heap]")))
        << each;
    EXPECT_TRUE(harmless(groups + each));
}

TEST(MapsText, SaysWhatTheRecordingOfStacksLacks) {
    MapsDocument document = sampled_document();
    auto recording = std::make_shared<memory::SampledRecording>(*document.processes[0].stacks->recording);
    recording->lost = 1'234;
    recording->complete = false;
    document.processes[0].stacks->recording = recording;
    const std::string text = text_of(document);
    EXPECT_NE(text.find(", one in 64; 1,234 more were lost. trace"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("Z, and lacks records.\n")) << text;
}

TEST(MapsText, SaysWhyThereAreNoStacks) {
    MapsDocument document = maps_document();
    document.processes[0].why_no_stacks = "x.rsslag does not contain this process";
    EXPECT_TRUE(text_of(document).ends_with("\nNo stacks: x.rsslag does not contain this process\n"));
    const json process = json::parse(maps_json(document, {}))["processes"][0];
    EXPECT_EQ(process["why_no_stacks"], "x.rsslag does not contain this process");
    EXPECT_TRUE(process["stacks"].is_null());
}

TEST(MapsJson, HasTheTopStackOfEachRow) {
    MapsChoices choices;
    choices.each = true;
    const json process = json::parse(maps_json(sampled_document(), choices))["processes"][0];
    EXPECT_EQ(process["stacks"]["resident"], 3);
    for (const char *const rows : {"groups", "mappings"}) {
        for (const json &row : process[rows]) {
            if (row["name"] == "[heap]") {
                EXPECT_EQ(row["stack"]["functions"].size(), 5U);
                EXPECT_EQ(row["stack"]["share"], 0.75);
            } else if (row["name"] != "/usr/bin/server") {
                EXPECT_TRUE(row["stack"].is_null()) << row;
            }
        }
    }
}

TEST(MapsText, ShowsEachMappingOnDemand) {
    MapsChoices choices;
    choices.each = true;
    const std::string text = text_of(maps_document(), choices);
    EXPECT_NE(text.find("0000000000400000-0000000000464000 r-xp"), std::string::npos) << text;
    EXPECT_NE(text.find("[stack]\n"), std::string::npos);
    EXPECT_TRUE(harmless(text));
}

TEST(MapsText, ShowsWhatDiffersFromTheCounters) {
    MapsDocument document = maps_document();
    document.processes[0].reading->verdict.exact.shmem = {47};
    const auto checks = member_checks(document.processes[0], document.machine.page_size);
    ASSERT_EQ(checks.size(), 3U);
    EXPECT_EQ(checks[2].member, core::Member::Shmem);
    EXPECT_EQ(checks[2].difference, core::Pages{3});
    EXPECT_NE(text_of(document).find("\ndifference "), std::string::npos);
    EXPECT_EQ(text_of(maps_document()).find("\ndifference "), std::string::npos);
}

TEST(TopRows, DifferFromTopByWhatIsCached) {
    const MapsDocument document = maps_document();
    const auto rows = top_rows(document.processes[0], document.machine.page_size);
    ASSERT_EQ(rows.size(), 7U);
    EXPECT_EQ(row(rows, "RES").shown, 700);
    EXPECT_EQ(row(rows, "RES").exact, 720);
    EXPECT_NE(row(rows, "RES").note.find("20 kB too low: this part is cached"), std::string::npos);
    EXPECT_EQ(row(rows, "SHR").exact, 608);
    EXPECT_NE(row(rows, "SHR").note.find("200 kB of it is shared anonymous memory"), std::string::npos);
    EXPECT_NE(row(rows, "DATA").note.find("reserved, hardly touched: only 120 kB"), std::string::npos);
    EXPECT_EQ(row(rows, "%MEM").exact, 1.0);
}

TEST(TopRows, AreExactByAThreadWhereTheMainThreadHasEnded) {
    MapsDocument document = maps_document();
    MappedProcess &process = document.processes[0];
    process.top.living = std::exchange(process.top.statm, procfs::Statm{});
    process.top.vm_swap.reset();
    const auto rows = top_rows(process, document.machine.page_size);
    for (const char *column : {"VIRT", "RES", "SHR", "CODE", "DATA"})
        EXPECT_EQ(row(rows, column).shown, 0) << column << ": top reads the files of the main thread";
    EXPECT_EQ(row(rows, "VIRT").exact, 16777216);
    EXPECT_EQ(row(rows, "CODE").exact, 400);
    EXPECT_EQ(row(rows, "DATA").exact, 16776000);
    EXPECT_EQ(row(rows, "RES").exact, 720);
    EXPECT_EQ(row(rows, "RES").note,
              "top reads the main thread, which has ended; 20 kB too low: this part is cached, not yet flushed");
    EXPECT_NE(row(rows, "DATA").note.find("reserved, hardly touched: only 120 kB"), std::string::npos);
    process.reading.reset();
    EXPECT_EQ(row(top_rows(process, document.machine.page_size), "VIRT").exact, 16777216);
}

TEST(MapsJson, NeverLosesAKey) {
    MapsDocument document = maps_document();
    const json whole = json::parse(maps_json(document, {}));
    document.processes[0].reading.reset();
    document.processes[0].top = {};
    const json bare = json::parse(maps_json(document, {}));
    const json &before = whole["processes"][0];
    const json &after = bare["processes"][0];
    EXPECT_EQ(before.size(), after.size());
    for (const auto &[key, value] : before.items())
        EXPECT_TRUE(after.contains(key)) << key;
    EXPECT_TRUE(after["exact"].is_null());
    EXPECT_TRUE(after["top"][1]["says_kb"].is_null());
    EXPECT_TRUE(harmless(maps_json(document, {})));
}

TEST(Baseline, IsWhatTheDocumentSaid) {
    const MapsDocument document = maps_document();
    const auto read = memory::read_baselines(maps_json(document, {}));
    ASSERT_TRUE(read.ok()) << read.error().what;
    ASSERT_EQ(read->size(), 1U);
    const Baseline &baseline = read->front();
    EXPECT_EQ(baseline.pid, 4711);
    EXPECT_EQ(baseline.sums.rss, document.processes[0].sums.rss);
    EXPECT_EQ(baseline.sums.droppable, document.processes[0].sums.droppable);
    ASSERT_EQ(baseline.groups.size(), document.processes[0].groups.size());
    EXPECT_EQ(baseline.groups[0].rss, document.processes[0].groups[0].rss);
}

TEST(AssertionsText, NamesWhyAnUpperBoundDoesNotDecide) {
    MapsDocument document = maps_document();
    memory::Asserted asserted;
    asserted.assertion.text = "droppable>=12MiB";
    asserted.value = Kilobytes{15168};
    asserted.at_most = true;
    document.processes[0].asserted = {asserted};
    EXPECT_EQ(assertions_text(document.processes[0], {}, false),
              "NOT KNOWN droppable>=12MiB: 15,168 kB at most: pages that other processes have locked or pinned are not "
              "detected\n");
    EXPECT_EQ(assertions_text(document.processes[0], {}, true), "");
}

TEST(ReportHead, IsPlainAscii) {
    const MapsDocument document = maps_document();
    const std::string head = report_head(document, document.processes[0], {"rsslag 1", "[madvise]"});
    EXPECT_TRUE(harmless(head));
    EXPECT_NE(head.find("command line          server --port 80 \\x1b[1m\n"), std::string::npos) << head;
}

TEST(PmapText, KeepsTheLayout) {
    const MapsDocument document = maps_document();
    EXPECT_TRUE(is_golden(pmap_x_text(document.processes[0], false), "pmap_x.txt"));
    EXPECT_TRUE(harmless(pmap_details_text(document.processes[0], false)));
}

TEST(ChangesText, NamesWhatCameWentAndGrew) {
    MapsDocument document = maps_document();
    MappedProcess &process = document.processes[0];
    auto before = process.groups;
    before.front().rss += Kilobytes{8};
    before.erase(std::ranges::find(before, std::string("[stack]"), &procfs::MapGroup::name));
    before.emplace_back().name = "/gone";
    process.since = procfs::changes(before, process.groups);
    const std::string text = changes_text(process, ascii_style());
    EXPECT_NE(text.find("new: [stack]"), std::string::npos) << text;
    EXPECT_NE(text.find("gone: /gone"), std::string::npos) << text;
    EXPECT_NE(text.find("-8"), std::string::npos) << text;
    process.since.emplace();
    EXPECT_EQ(changes_text(process, ascii_style()), "nothing has changed\n");
}

}  // namespace
}  // namespace rsslag::documents
