// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "documents/maps.h"
#include "documents/mem.h"
#include "expected.h"
#include "golden.h"
#include "mapped.h"

namespace rsslag::documents {
namespace {

using core::Kilobytes;
using core::Pages;
using nlohmann::json;
using test::ascii_style;
using test::is_golden;
using test::maps_document;

PagesReport report(bool frames) {
    PagesReport report;
    report.scans = true;
    if (!frames) report.why_no_frames = "reading frame numbers requires CAP_SYS_ADMIN";
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
        row.counts.large = Pages{4};
        row.counts.ksm = Pages{0};
        row.counts.mapped = {{2, {1}}, {7, {2}}, {8, {1}}};
        row.counts.pss_scaled = 9ULL << 22;
    }
    row.agrees = frames;
    report.rows = {row};
    report.omitted = {{"[heap]", 0xa000, "changed during the reading"}, {"", 0xb000, "changed during the reading"}};
    return report;
}

TEST(PagesText, ShowsHowOftenPagesAreMapped) {
    MapsDocument document = maps_document();
    document.processes[0].pages = report(true);
    const std::string text = maps_text(document, document.processes[0], {}, ascii_style());
    EXPECT_NE(text.find("/usr/lib/x.so  2x 1, 5-8x 3\n"), std::string::npos) << text;
    EXPECT_NE(text.find("omitted: 2 mappings: changed during the reading\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("Not known here"), std::string::npos);
}

TEST(PagesText, SaysWhatIsNotKnown) {
    MapsDocument document = maps_document();
    document.processes[0].pages = report(false);
    const std::string text = maps_text(document, document.processes[0], {}, ascii_style());
    EXPECT_NE(text.find("Not known here: how often pages are shared, large folios, KSM, and Pss"), std::string::npos)
        << text;
    EXPECT_NE(text.find("~ /usr/lib/x.so"), std::string::npos) << "a mapping whose counts differ must be marked";
    const json pages = json::parse(maps_json(document, {}))["processes"][0]["pages"];
    EXPECT_EQ(pages["frames"], false);
    EXPECT_TRUE(pages["rows"][0]["histogram"].is_null());
    EXPECT_TRUE(pages["total"]["ksm"].is_null());
    EXPECT_TRUE(pages["total"]["large"].is_null());
    EXPECT_EQ(pages["total"]["huge"], 0) << "smaps shows huge pages to all users";
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
    if (by == MemBy::Program) row.room = procfs::Headroom{{900}, {900}, 88};
    if (by == MemBy::File) {
        row.mappings = 3;
        row.pids = {4711};
        row.use_by_pid = {{4711, user.use}};
    }
    document.rows = {row};
    document.failed = {{1, core::Kind::Denied, "cannot read /proc/1/smaps_rollup: Permission denied"},
                       {9, core::Kind::Denied, "cannot read /proc/9/smaps_rollup: Permission denied"},
                       {7, core::Kind::Gone, "process 7 has ended"}};
    return document;
}

TEST(MemText, SumsUpAndNamesWhoCouldNotBeRead) {
    EXPECT_TRUE(is_golden(mem_text(mem_document(MemBy::Program), true, 40, ascii_style()), "mem_program.txt"));
    EXPECT_TRUE(is_golden(mem_text(mem_document(MemBy::File), true, 40, ascii_style()), "mem_file.txt"));
}

MemDocument used_document() {
    MemDocument document = mem_document(MemBy::Program);
    procfs::MemInfo &info = document.after;
    info.cached = Kilobytes{20000};
    info.buffers = Kilobytes{1000};
    info.anon_pages = Kilobytes{900};
    info.mapped = Kilobytes{700};
    info.shmem = Kilobytes{5000};
    info.hugetlb = Kilobytes{8192};
    info.balloon = Kilobytes{300};
    document.before = info;
    document.users[0].parts = {Kilobytes{1000}, Kilobytes{400}, Kilobytes{100}, {4096}, {}};
    document.machine.pools = {{{2048}, 4, 2, 1, 0}};
    document.machine.tmpfs = {{"/dev/shm\x1b", {4800}, Kilobytes{9000}}};
    document.failed.clear();
    return document;
}

TEST(MemText, ListsTheUsersOfTheRest) {
    EXPECT_TRUE(is_golden(mem_text(used_document(), false, 40, ascii_style()), "mem_used.txt"));
}

TEST(MemText, NamesMemoryOfDriversAndWhereItCountsTwice) {
    MemDocument document = used_document();
    document.after.vmalloc_used = Kilobytes{900};
    const auto has = [&](const char *part) {
        const std::string text = mem_text(document, false, 40, ascii_style());
        return text.find(part) != std::string::npos;
    };
    EXPECT_FALSE(has("drivers"));
    EXPECT_TRUE(has("900  vmalloc except kernel stacks\n"));
    document.users[0].parts.drivers = Kilobytes{250};
    EXPECT_TRUE(has("~ 250  processes: memory of drivers that they map; vmalloc may count it, too\n"));
    EXPECT_TRUE(has("900  vmalloc except kernel stacks\n"));
    document.users[0].parts.bpf_maps = Kilobytes{200};
    EXPECT_TRUE(has("~ 700  vmalloc except kernel stacks and BPF arrays that processes map\n"));
    document.machine.stacks_in_vmalloc = false;
    EXPECT_TRUE(has("~ 700  vmalloc except BPF arrays that processes map\n"));
}

TEST(MemText, NamesUnmappedPartsOfHugePages) {
    MemDocument document = used_document();
    document.after.active_anon = Kilobytes{7000};
    document.after.inactive_anon = Kilobytes{0};
    std::string text = mem_text(document, false, 40, ascii_style());
    EXPECT_NE(text.find("~ 1,100  unmapped parts of huge pages that are mapped in part, or other unmapped pages\n"),
              std::string::npos)
        << text;
    document.machine.partly_mapped = Kilobytes{1024};
    text = mem_text(document, false, 40, ascii_style());
    EXPECT_NE(text.find("~ 1,024  unmapped parts of huge pages that are mapped in part\n"), std::string::npos) << text;
}

TEST(MemText, TellsOfWhatWasNotReadAndOfWhatMoved) {
    MemDocument document = used_document();
    document.failed = {{1, core::Kind::Denied, "no"}, {2, core::Kind::Denied, "no"}, {3, core::Kind::Gone, "no"}};
    document.before.free = Kilobytes{50000};
    std::string text = mem_text(document, false, 40, ascii_style());
    for (const char *const part :
         {"anonymous memory of 2 processes not readable", "page cache that none of these maps",
          "~ 200 kB of page cache, shmem and tmpfs are mapped by processes that were not read\n",
          "memory in use changed by -10,000 kB", "it is not known whether MemTotal still includes it\n"})
        EXPECT_NE(text.find(part), std::string::npos) << part << text;
    document.machine.sees_all_processes = false;
    text = mem_text(document, false, 40, ascii_style());
    EXPECT_NE(text.find("anonymous memory of processes not readable or not shown here\n"), std::string::npos) << text;
    document.of_one_user = true;
    text = mem_text(document, false, 40, ascii_style());
    EXPECT_NE(text.find("anonymous memory of all other processes"), std::string::npos) << text;
}

procfs::StatusFile status_of_other() {
    procfs::StatusFile status;
    status.name = "other";
    status.threads = 3;
    status.vm_rss = status.vm_size = core::Kilobytes{900};
    status.members = {core::Kilobytes{200}, core::Kilobytes{400}, core::Kilobytes{8}, core::Kilobytes{100}};
    return status;
}

TEST(MemText, NamesHowMuchHugetlbAndShmemIsNotListed) {
    MemDocument document = used_document();
    document.machine.tmpfs.clear();
    document.machine.pools[0].free = 0;
    std::string text = mem_text(document, false, 40, ascii_style());
    EXPECT_NE(text.find("at least 4,900 in no tmpfs listed: "), std::string::npos) << text;
    EXPECT_NE(text.find("at least 4,096 mapped by no process listed: memfd, hugetlbfs, System V\n"), std::string::npos)
        << text;
    json used = json::parse(mem_json(document, false))["used"];
    EXPECT_EQ(used["tmpfs_unlisted_kb"], 4900);
    EXPECT_EQ(used["hugetlb"]["unlisted_kb"], 4096);
    EXPECT_TRUE(used["hugetlb"]["by_status"].empty());

    document.users[0].parts.private_hugetlb = {};
    document.failed = {{5, core::Kind::Denied, "no", status_of_other()}, {6, core::Kind::Denied, "no"}};
    document.failed[0].status->hugetlb = Kilobytes{2048};
    text = mem_text(document, false, 40, ascii_style());
    EXPECT_NE(text.find("by status, as smaps could not be read: 5 other 2,048\n"), std::string::npos) << text;
    EXPECT_NE(text.find("at least 6,144 mapped by no process listed: memfd, hugetlbfs, System V, or processes that "
                        "were not read\n"),
              std::string::npos)
        << text;
    used = json::parse(mem_json(document, false))["used"];
    EXPECT_EQ(used["hugetlb"]["by_status"][0]["pid"], 5);
    EXPECT_EQ(used["hugetlb"]["by_status"][0]["total_kb"], 2048);
    EXPECT_EQ(used["hugetlb"]["unlisted_kb"], 6144);

    document.users[0].parts.shared_hugetlb = Kilobytes{8192};
    document.after.shmem = Kilobytes{50};
    text = mem_text(document, false, 40, ascii_style());
    EXPECT_EQ(text.find("at least"), std::string::npos) << text;
    EXPECT_EQ(json::parse(mem_json(document, false))["used"]["tmpfs_unlisted_kb"], 0);
}

TEST(MemText, ExplainsEachAmountBelowZero) {
    MemDocument document = used_document();
    document.after.anon_pages = Kilobytes{1200};
    const auto explains = [&] {
        const std::string text = mem_text(document, false, 40, ascii_style());
        return text.find("or a process freed memory or ended after it was read\n") != std::string::npos;
    };
    EXPECT_FALSE(explains());
    document.after.mapped = Kilobytes{300};
    EXPECT_FALSE(explains()) << "all processes were read, so this amount is not shown";
    document.failed = {{1, core::Kind::Denied, "no"}};
    EXPECT_TRUE(explains()) << "200 kB less than the processes map";
    document.after.mapped = Kilobytes{700};
    EXPECT_FALSE(explains());
    document.after.anon_pages = Kilobytes{900};
    EXPECT_TRUE(explains()) << "100 kB less than the processes have";
}

TEST(MemText, TellsWhoShareOneMemoryAndWhoMayDo) {
    MemDocument document = mem_document(MemBy::User);
    document.undecided = {{20, 10, {500}}, {21, 10, {500}}};
    document.why_undecided = "kcmp: Function not implemented";
    const std::string text = mem_text(document, false, 40, ascii_style());
    EXPECT_NE(text.find("shared address spaces, each counted once: 4711+4712 server\\x1b 1,500\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("~ each is counted, but may share an mm with another one (kcmp: Function not "
                        "implemented): 2 processes, 1,000 kB: 20 like 10, 21 like 10\n"),
              std::string::npos)
        << text;
    const json result = json::parse(mem_json(document, false));
    EXPECT_EQ(result["shared_mm"][0]["pids"], (std::vector<int>{4711, 4712}));
    EXPECT_EQ(result["maybe_shared_mm"][1]["total_kb"], 500);
}

TEST(MemText, HasTheRemedyForProcessesThatCouldNotBeRead) {
    MemDocument document = mem_document(MemBy::User);
    EXPECT_EQ(mem_text(document, false, 40, ascii_style()).find("to read them"), std::string::npos);
    document.failed[0].remedy = document.failed[1].remedy = "run rsslag with sudo";
    const std::string text = mem_text(document, false, 40, ascii_style());
    EXPECT_NE(text.find(", not allowed: 1 9\nto read them: run rsslag with sudo\n"), std::string::npos) << text;
}

TEST(MemText, SumsUpTheRowsItLeavesOut) {
    MemDocument document = mem_document(MemBy::User);
    document.rows.push_back(document.rows[0]);
    const std::string text = mem_text(document, false, 1, ascii_style());
    EXPECT_NE(text.find("  1 more (--all lists them)\n"), std::string::npos) << text;
}

TEST(MemText, TellsTheStatusOfWhoCouldNotBeRead) {
    MemDocument document = mem_document(MemBy::User);
    document.failed[0].status = document.failed[1].status = status_of_other();
    document.status_shows = core::Truth::Exact;
    const std::string text = mem_text(document, false, 40, ascii_style());
    EXPECT_NE(text.find("status of 2 of them (exact on this kernel): 1,400 kB resident, of which 800 anonymous; 16 in "
                        "swap; shared pages are counted in each\n"),
              std::string::npos)
        << text;
    const json failed = json::parse(mem_json(document, false))["failed"];
    EXPECT_EQ(failed[0]["status"]["rss_kb"], 700);
    EXPECT_TRUE(failed[2]["status"].is_null());
}

TEST(MapsText, ShowsTheStatusIfTheMappingsMayNotBeRead) {
    MapsDocument document;
    document.machine.page_size = {4096};
    document.kernel = "6.1.0";
    document.status_shows = core::Truth::Flushed;
    document.failed = {{4711, "not yours", status_of_other()}};
    document.failed[0].status->hugetlb = core::Kilobytes{2048};
    const std::string text = unmapped_text(document, document.failed[0], ascii_style());
    for (const char *const line :
         {"other [4711]  3 threads  Linux 6.1.0\n",
          "BY /proc/4711/status ALONE: only flushed counters, which lag on this kernel\n", "\nanon              400\n",
          "\nrss               700\nhugetlb         2,048\n", "mappings: not yours\n"})
        EXPECT_NE(text.find(line), std::string::npos) << text;
    const json result = json::parse(maps_json(document, {}));
    EXPECT_EQ(result["status_shows"], "flushed");
    EXPECT_EQ(result["failed"][0]["status"]["swap_kb"], 8);
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

TEST(MemJson, UsedAddsUpAndNamesWhatIsNotKnown) {
    const json used = json::parse(mem_json(used_document(), false))["used"];
    std::int64_t sum = 0;
    for (const json &row : used["rows"])
        sum += row["in_use_kb"].is_null() ? 0 : row["in_use_kb"].get<std::int64_t>();
    EXPECT_EQ(used["in_use_kb"], 40000);
    EXPECT_EQ(sum, 40000);
    EXPECT_TRUE(used["balloon"]["in_memtotal"].is_null());
    EXPECT_EQ(used["balloon"]["held_kb"], 300);
    EXPECT_EQ(used["hugetlb"]["processes"][0]["private_kb"], 4096);
    EXPECT_EQ(used["hugetlb"]["pools"][0]["reserved"], 1);
    EXPECT_EQ(used["tmpfs"][0]["where"], "/dev/shm\\x1b");
}

}  // namespace
}  // namespace rsslag::documents
