// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "golden.h"
#include "mapped.h"
#include "rsslag/view/mem.h"

namespace rsslag::view {
namespace {

using core::Kilobytes;
using core::Pages;
using nlohmann::json;
using test::is_golden;
using test::maps_document;

TextStyle ascii() {
    TextStyle style;
    style.utf8 = false;
    return style;
}

PagesReport report(bool frames) {
    PagesReport report;
    report.scans = true;
    if (!frames) report.why_no_frames = "frame numbers are for CAP_SYS_ADMIN alone";
    PagesRow row;
    row.name = "/usr/lib/x.so";
    row.start = 0x1000;
    row.end = 0x9000;
    row.rss = {24};
    row.counts.present = {6};
    row.counts.exclusive = {2};
    row.counts.shared = {4};
    row.counts.zero = Pages{1};
    row.counts.huge = Pages{0};
    if (frames) {
        row.counts.ksm = Pages{0};
        row.counts.mapped = {{2, {1}}, {7, {2}}, {8, {1}}};
        row.counts.pss_scaled = 9ULL << 22;
    }
    row.agrees = frames;
    report.rows = {row};
    report.omitted = {{"[heap]", 0xa000, "changed while it was read"}, {"", 0xb000, "changed while it was read"}};
    return report;
}

TEST(PagesText, ShowsHowOftenPagesAreMapped) {
    MapsDocument document = maps_document();
    document.processes[0].pages = report(true);
    const std::string text = maps_text(document, document.processes[0], {}, ascii());
    EXPECT_NE(text.find("/usr/lib/x.so  2x 1, 5-8x 3\n"), std::string::npos) << text;
    EXPECT_NE(text.find("left out: 2 mappings, changed while it was read\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("Not known here"), std::string::npos);
}

TEST(PagesText, SaysWhatIsNotKnown) {
    MapsDocument document = maps_document();
    document.processes[0].pages = report(false);
    const std::string text = maps_text(document, document.processes[0], {}, ascii());
    EXPECT_NE(text.find("Not known here: how often pages are shared, KSM, and Pss"), std::string::npos) << text;
    EXPECT_NE(text.find("~ /usr/lib/x.so"), std::string::npos) << "what does not agree is marked";
    const json pages = json::parse(maps_json(document, {}))["processes"][0]["pages"];
    EXPECT_EQ(pages["frames"], false);
    EXPECT_TRUE(pages["rows"][0]["histogram"].is_null());
    EXPECT_TRUE(pages["total"]["ksm"].is_null());
}

MemDocument mem_document(MemBy by) {
    MemDocument document;
    document.by = by;
    document.after.total = Kilobytes{100000};
    document.after.free = Kilobytes{60000};
    document.after.available = Kilobytes{80000};
    document.read_us = 1234;
    procfs::User user;
    user.pids = {4711, 4712};
    user.comm = "server\x1b";
    user.use.private_dirty = {900};
    user.use.private_clean = {100};
    user.use.pss = {1500};
    document.users = {user};
    MemRow row;
    row.name = "/usr/bin/server";
    row.processes = 2;
    row.pids = user.pids;
    row.use = user.use;
    if (by == MemBy::Program) row.room = procfs::Room{{900}, {900}, 88};
    if (by == MemBy::File) {
        row.mappings = 3;
        row.pids = {4711};
        row.use_by_pid = {{4711, user.use}};
    }
    document.rows = {row};
    document.failed = {{1, core::Kind::Denied, "/proc/1/smaps_rollup: Permission denied"},
                       {9, core::Kind::Denied, "/proc/9/smaps_rollup: Permission denied"},
                       {7, core::Kind::Gone, "process 7 is gone"}};
    return document;
}

TEST(MemText, SumsUpAndNamesWhoCouldNotBeRead) {
    EXPECT_TRUE(is_golden(mem_text(mem_document(MemBy::Program), true, 40, ascii()), "mem_program.txt"));
    EXPECT_TRUE(is_golden(mem_text(mem_document(MemBy::File), true, 40, ascii()), "mem_file.txt"));
}

TEST(MemText, SumsUpTheRowsItLeavesOut) {
    MemDocument document = mem_document(MemBy::User);
    document.rows.push_back(document.rows[0]);
    const std::string text = mem_text(document, false, 1, ascii());
    EXPECT_NE(text.find("  1 more (--all lists them)\n"), std::string::npos) << text;
}

TEST(MemJson, AddsUp) {
    const json document = json::parse(mem_json(mem_document(MemBy::Program), true));
    EXPECT_EQ(document["sum"]["total_kb"], 1500);
    EXPECT_EQ(document["sum"]["shared_kb"], 500);
    EXPECT_EQ(document["rows"][0]["room"]["more"], 88);
    EXPECT_EQ(document["processes"][0]["comm"], "server\\x1b");
    EXPECT_EQ(document["failed"].size(), 3U);
    EXPECT_TRUE(json::parse(mem_json(mem_document(MemBy::User), false))["processes"].is_null());
}

}  // namespace
}  // namespace rsslag::view
