// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "expected.h"
#include "ticks.h"

namespace rsslag::documents {
namespace {

using core::FlushReason;
using nlohmann::ordered_json;
using test::contains;
using test::fault_event;
using test::fold_event;
using test::keys;

EventLine flush_event(FlushReason reason) {
    EventLine event = fault_event();
    event.update.flags = RSSLAG_OWN;
    event.update.cached = 64;
    event.applied = {true, core::Pages{64}, reason};
    return event;
}

TaskLine task_event(std::uint16_t kind, std::uint16_t flags, const char *comm = "worker-03") {
    TaskLine event;
    event.t_ns = 12'345'678'901;
    rsslag_task &task = event.task;
    task.kind = kind;
    task.flags = flags;
    task.tid = task.ns_tid = 4715;
    task.tgid = task.ns_tgid = 4711;
    task.mm = 0xffff888104ab3c00;
    task.cpu = 1;
    std::copy_n(comm, std::min(std::strlen(comm), sizeof(task.comm)), task.comm);
    return event;
}

ordered_json json_of(const EventLine &event) {
    return ordered_json::parse(event_json(event));
}

ordered_json json_of(const TaskLine &event) {
    return ordered_json::parse(task_json(event));
}

TEST(EventText, ReadsAsStraceWould) {
    EXPECT_EQ(
        event_text(fault_event(), {}),
        "   12.345678  4711/4715 worker-03        anon +4 kB  cached 68 kB  flushed 79,964 kB  fault 0x7f1234567000\n");
}

TEST(EventText, PrintsInKbWhatWouldRoundToZero) {
    TextStyle style;
    style.pages = core::as_mib;
    style.unit = "MiB";
    EXPECT_TRUE(contains(event_text(fault_event(), style), "anon +4 kB  cached 0.1 MiB  flushed 78.1 MiB  "));
}

TEST(EventText, GivesAMemberThatItDoesNotKnowNoName) {
    EventLine event = fault_event();
    event.update.member = 5;
    event.applied = {};
    EXPECT_TRUE(contains(event_text(event, {}), " member 5 ?  cached ?  "));
    EXPECT_TRUE(json_of(event)["member"].is_null());
}

TEST(EventText, SaysWhyAThreadFlushedAndThatNothingStaysCached) {
    for (const auto &[reason, text] : {std::pair{FlushReason::Threshold, "flush: threshold"},
                                       {FlushReason::Zap, "flush: zap"},
                                       {FlushReason::Exec, "flush: exec"},
                                       {FlushReason::Exit, "flush: exit"}}) {
        const std::string line = event_text(flush_event(reason), {});
        EXPECT_TRUE(contains(line, "anon +256 kB  cached 0 kB  flushed 79,964 kB  ")) << line;
        EXPECT_TRUE(contains(line, text)) << line;
    }
}

TEST(EventText, PrintsAQuestionMarkForAFoldWhoseAmountIsOpen) {
    EventLine event = fold_event();
    EXPECT_TRUE(contains(event_text(event, {}), "anon ?  cached 0 kB  flushed 79,964 kB  fold\n"));
    event.applied.pages = core::Pages{-3};
    EXPECT_TRUE(contains(event_text(event, {}), "anon \u221212 kB  cached 0 kB"));
    TextStyle ascii;
    ascii.utf8 = false;
    EXPECT_TRUE(contains(event_text(event, ascii), "anon -12 kB  cached 0 kB"));
}

TEST(EventText, DoesNotTakeAThreadsOwnCacheForThatOfAnotherMm) {
    EventLine event = flush_event(FlushReason::Direct);
    EXPECT_TRUE(contains(event_text(event, {}), "cached 256 kB  flushed 79,964 kB  direct\n"));
    event.update.flags = RSSLAG_BY_OTHER;
    event.applied.by_other = true;
    EXPECT_TRUE(contains(event_text(event, {}), "cached ?  flushed 79,964 kB  direct  by another process\n"));
    event.update.flags = RSSLAG_OWN | RSSLAG_BY_OTHER;  // by a process that shares the mm
    event.applied.by_other = false;
    EXPECT_TRUE(contains(event_text(event, {}), "cached 256 kB  flushed 79,964 kB  direct\n"));
    EXPECT_FALSE(json_of(event).at("by_other").get<bool>());
}

TEST(EventText, MarksTheTeardownAndABirth) {
    EventLine event = flush_event(FlushReason::Exit);
    event.update.flags = RSSLAG_TEARDOWN | RSSLAG_EXITING;
    EXPECT_TRUE(contains(event_text(event, {}), "  teardown\n"));
    event.update.flags = RSSLAG_NEWBORN;
    EXPECT_TRUE(contains(event_text(event, {}), "  mm is being created\n"));
    event.update.flags = RSSLAG_OF_KERNEL_FAULT;
    EXPECT_TRUE(contains(event_text(event, {}), "  fault 0x7f1234567000 in kernel mode\n"));
}

TEST(EventText, MarksAnUpdateOfAnUntracedMm) {
    EventLine event = fault_event();
    event.pid = 0;
    event.applied = {};
    EXPECT_TRUE(contains(event_text(event, {}), "  ?/4715 worker-03        anon ?  cached ?  flushed 79,964 kB"));
    EXPECT_TRUE(contains(event_text(event, {}), "  unknown mm\n"));
}

TEST(EventText, NeverLetsAHostileNameThrough) {
    EventLine event = fault_event();
    event.comm = "x\x1b[2J\n\u202E";
    const std::string line = event_text(event, {});
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
    EXPECT_TRUE(contains(line, "x\\x1b[2J\\x0a\\xe2\\x80\\xae"));
    EXPECT_FALSE(contains(line, "\x1b"));
}

TEST(EventJson, HasTheSameKeysWhateverHappened) {
    const std::vector<std::string> expected{"type",    "t_ns",     "pid",     "tid",      "cpu",    "comm",
                                            "member",  "pages",    "cached",  "flushed",  "reason", "fault",
                                            "address", "by_other", "newborn", "teardown", "known"};
    EventLine unknown = fault_event();
    unknown.applied = {};
    for (const EventLine &event : {fault_event(), fold_event(), flush_event(FlushReason::Zap), unknown}) {
        std::vector<std::string> keys;
        const ordered_json json = json_of(event);
        for (const auto &item : json.items())
            keys.push_back(item.key());
        EXPECT_EQ(keys, expected);
    }
}

TEST(EventJson, SaysWhatKindOfUpdateItWas) {
    EXPECT_EQ(json_of(fault_event()).at("type"), "update");
    EXPECT_TRUE(json_of(fault_event()).at("reason").is_null());
    EXPECT_EQ(json_of(fold_event()).at("type"), "fold");
    EXPECT_EQ(json_of(flush_event(FlushReason::Threshold)).at("type"), "flush");
    EXPECT_EQ(json_of(flush_event(FlushReason::Threshold)).at("reason"), "threshold");
    EXPECT_EQ(json_of(flush_event(FlushReason::Direct)).at("type"), "update");
}

TEST(EventJson, SaysNullForAFoldWhoseAmountIsOpen) {
    EXPECT_TRUE(json_of(fold_event()).at("pages").is_null());
    EXPECT_EQ(json_of(fault_event()).at("pages"), 1);
}

TEST(EventJson, GivesAddressesAsStringsAndNoneWithoutAFault) {
    EXPECT_EQ(json_of(fault_event()).at("address"), "0x7f1234567000");
    EXPECT_EQ(json_of(fault_event()).at("fault"), "user");
    EXPECT_TRUE(json_of(fold_event()).at("address").is_null());
    EXPECT_TRUE(json_of(fold_event()).at("fault").is_null());
    EventLine null_pointer = fault_event();
    null_pointer.update.address = 0;
    EXPECT_EQ(json_of(null_pointer).at("address"), "0x0");
}

TEST(EventLines, NeverTellAnAddressOfTheKernel) {
    const TaskLine task = task_event(RSSLAG_EXEC, RSSLAG_TRACED);
    for (const std::string &line :
         {event_text(fault_event(), {}), event_json(fault_event()), task_text(task, {}), task_json(task)}) {
        EXPECT_FALSE(contains(line, "ffff888104ab3c00")) << line;
        EXPECT_FALSE(contains(line, std::to_string(0xffff888104ab3c00))) << line;
    }
}

TEST(TaskText, SaysWhatBecameOfATask) {
    const auto text = [](TaskLine event) {
        event.task.parent = 4711;
        const std::string line = task_text(event, {});
        EXPECT_EQ(line.substr(0, 41), "   12.345678  4711/4715 worker-03        ");
        return line.substr(41);
    };
    EXPECT_EQ(text(task_event(RSSLAG_NEWTASK, RSSLAG_SAME_GROUP | RSSLAG_SHARES_MM)), "thread started by 4711\n");
    EXPECT_EQ(text(task_event(RSSLAG_NEWTASK, 0)), "forked by 4711\n");
    EXPECT_EQ(text(task_event(RSSLAG_NEWTASK, RSSLAG_SHARES_MM)), "forked by 4711, shares its mm\n");
    EXPECT_EQ(text(task_event(RSSLAG_SEEN, 0)), "updates an mm that is not its own\n");
    EXPECT_EQ(text(task_event(RSSLAG_RENAME, 0)), "renamed to this name\n");
    TaskLine exec = task_event(RSSLAG_EXEC, 0);
    exec.task.old_tid = 4715;
    EXPECT_EQ(text(exec), "exec\n");
    exec.task.old_tid = 4720;
    EXPECT_EQ(text(exec), "exec, was thread 4720\n");
    TaskLine exit = task_event(RSSLAG_EXIT, 0);
    exit.task.user_faults = 1'200;
    exit.task.kernel_faults = 4;
    EXPECT_EQ(text(exit), "thread ends after 1,204 faults, 4 in kernel mode\n");
    exit.task.flags = RSSLAG_GROUP_DEAD;
    EXPECT_EQ(text(exit), "process exits after 1,204 faults, 4 in kernel mode\n");
}

TEST(TaskText, SaysWhichNumbersAreTheKernelsWhereTheNamespaceHasItsOwn) {
    TaskLine event = task_event(RSSLAG_NEWTASK, RSSLAG_SAME_GROUP);
    event.task.ns_tid = 15;
    event.task.ns_tgid = 0;
    event.task.parent = 4711;
    EXPECT_EQ(task_text(event, {}), "   12.345678  ?/15 worker-03        thread started by host 4711\n");
    EXPECT_TRUE(json_of(event).at("pid").is_null());
    EXPECT_EQ(json_of(event).at("host_tid"), 4715);
}

TEST(TaskJson, NamesEachKindOfRecord) {
    const auto type = [](std::uint16_t kind, std::uint16_t flags) {
        return json_of(task_event(kind, flags)).at("type").get<std::string>();
    };
    EXPECT_EQ(type(RSSLAG_NEWTASK, RSSLAG_SAME_GROUP), "thread_start");
    EXPECT_EQ(type(RSSLAG_NEWTASK, 0), "fork");
    EXPECT_EQ(type(RSSLAG_SEEN, 0), "seen");
    EXPECT_EQ(type(RSSLAG_RENAME, 0), "rename");
    EXPECT_EQ(type(RSSLAG_EXEC, 0), "exec");
    EXPECT_EQ(type(RSSLAG_EXIT, 0), "thread_end");
    EXPECT_EQ(type(RSSLAG_EXIT, RSSLAG_GROUP_DEAD), "exit");
}

TEST(TaskJson, HasFaultsOnlyAtTheEnd) {
    EXPECT_TRUE(json_of(task_event(RSSLAG_NEWTASK, 0)).at("user_faults").is_null());
    EXPECT_EQ(json_of(task_event(RSSLAG_EXIT, 0)).at("user_faults"), 0);
}

TEST(TaskJson, TakesANameThatFillsItsFieldAndOneThatIsHostile) {
    EXPECT_EQ(json_of(task_event(RSSLAG_RENAME, 0, "0123456789abcdef")).at("comm"), "0123456789abcdef");
    EXPECT_EQ(json_of(task_event(RSSLAG_RENAME, 0, "\x1b[2J\xff\"")).at("comm"), "\\x1b[2J\\xff\"");
}

}  // namespace
}  // namespace rsslag::documents
