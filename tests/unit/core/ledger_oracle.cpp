// SPDX-License-Identifier: BSD-2-Clause
#include "ledger_oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/counter_history.h"
#include "core/member_name.h"
#include "readings.h"

namespace rsslag::core::test {
namespace {

std::int64_t distance(const Members &a, const Members &b) {
    std::int64_t sum = 0;
    for (const Member member : kAllMembers)
        sum += std::abs((a[member] - b[member]).n);
    return sum;
}

Members net_of(const ModelMm &mm, const ModelTask &task) {
    const auto found = mm.net.find(task.serial);
    return found == mm.net.end() ? Members{} : found->second;
}

/// What the ledger has of a task, in all of its lists.
struct Reported {
    Members net;
    std::int64_t uncertain = 0;
};

void add_rows(const std::vector<TaskNet> &rows, int host_tid, Reported *reported) {
    for (const TaskNet &row : rows) {
        if (row.host_tid != host_tid) continue;
        reported->net += row.net;
        reported->uncertain += row.uncertain.n;
    }
}

}  // namespace

Ledger::Options ledger_options(const ModelOptions &options) {
    return {options.scheme, options.cpus, options.batch, options.anon_orders, true};
}

Members sum_of(const MmView &view) {
    Members sum = view.baseline + view.exited.net + view.remainder;
    for (const TaskNet &task : view.tasks)
        sum += task.net;
    for (const TaskNet &task : view.others)
        sum += task.net;
    return sum;
}

Oracle::Oracle(ModelKernel &kernel) : kernel_(kernel), ledger_(ledger_options(kernel.options())) {}

void Oracle::adopt_all() {
    kernel_.settle();
    apply(kernel_.take_records());
    for (ModelMm *mm : kernel_.traced_mms()) {
        kernel_.attach(*mm);
        const ModelTask &leader = *kernel_.tasks_of(*mm).front();
        GroupView group;
        group.host_tgid = leader.group->tgid;
        group.tgid = ns_pid(leader.group->tgid);
        group.comm = leader.comm;
        group.mm = mm->address;
        ledger_.adopt(kernel_.read(*mm), group, kernel_.now(), kernel_.now());
    }
    kernel_.run_for(1'000);
}

/// Updates that are still open are not counted: they may not even have been folds.
void Oracle::note_reported(const Emitted &emitted, const Applied &applied) {
    if (!applied.known || !applied.pages) return;
    const FlushReason reason = applied.reason.value_or(FlushReason::Direct);
    if (applied.pages->n == emitted.amount && reason == emitted.reason) return;
    const auto &update = std::get<rsslag_update>(emitted.record);
    if (misreported_++ > 0) return;
    first_misreported_ = "update at " + std::to_string(update.t_ns) + " by " + std::to_string(update.tid) +
                         ": returned " + std::to_string(applied.pages->n) + ' ' + std::string(name(reason)) + ", was " +
                         std::to_string(emitted.amount) + ' ' + std::string(name(emitted.reason));
}

void Oracle::apply_update(const Emitted &emitted) {
    ++updates_;
    const Applied applied = ledger_.apply(std::get<rsslag_update>(emitted.record));
    if (lost_ == 0) note_reported(emitted, applied);
}

void Oracle::apply(const std::vector<Emitted> &records) {
    for (const Emitted &emitted : records) {
        const bool of_a_task = std::holds_alternative<rsslag_task>(emitted.record);
        if (lose_one_in_ > 0 && !of_a_task && dice_.once_in(lose_one_in_)) {
            ++lost_;
            ledger_.records_lost();
        } else if (std::holds_alternative<rsslag_update>(emitted.record)) {
            apply_update(emitted);
        } else if (of_a_task) {
            ledger_.apply(std::get<rsslag_task>(emitted.record));
        } else if (std::holds_alternative<rsslag_sum>(emitted.record)) {
            ledger_.apply(std::get<rsslag_sum>(emitted.record));
        } else {
            ledger_.apply(std::get<rsslag_fault>(emitted.record));
        }
    }
}

void Oracle::collect_ended() {
    for (Ended &ended : ledger_.take_ended()) {
        EXPECT_EQ(sum_of(ended.mm), ended.mm.exact());
        EXPECT_NE(ended.group.state, State::Running);
        if (ended.mm.torn_down && lost_ == 0) {
            EXPECT_EQ(ended.mm.exact(), Members{})
                << "group " << ended.group.host_tgid << std::hex << " mm " << ended.mm.mm;
        }
        ended_.push_back(std::move(ended));
    }
}

void Oracle::note_serials() {
    for (const ModelTask *task : kernel_.tasks()) {
        if (task->took_tid) {
            known_.erase(task->tid);
        } else {
            known_[task->tid] = {task->serial, task->mm == nullptr ? 0 : task->mm->address};
        }
    }
}

/// Each ended task's net is the model's, within its uncertainty.
void Oracle::expect_ended_tasks() {
    for (EndedTask &ended : ledger_.take_ended_tasks()) {
        const auto known = known_.find(ended.task.host_tid);
        if (known != known_.end() && ended.own && !kernel_.options().reuse_tids) {
            for (const ModelMm *mm : kernel_.traced_mms()) {
                const auto view = ledger_.view(mm->address);
                if (mm->address != known->second.mm || !view || view->generation != ended.generation) continue;
                const auto truth = mm->net.find(known->second.serial);
                EXPECT_LE(distance(ended.task.net, truth == mm->net.end() ? Members{} : truth->second),
                          ended.task.uncertain.n)
                    << "task " << ended.task.host_tid << ' ' << ended.task.comm;
                EXPECT_EQ(ended.task.tid, ns_pid(ended.task.host_tid));
                ++ended_checked_;
            }
        }
        ended_tasks_.push_back(std::move(ended));
    }
}

void Oracle::feed() {
    note_serials();
    kernel_.read_sums();
    const std::uint64_t before = kernel_.now() - kOnItsWayNs;
    apply(kernel_.take_records(before));
    ledger_.advance(before);
    expect_ended_tasks();
    collect_ended();
    expect_ended_tasks();
}

void Oracle::feed_all() {
    kernel_.settle();
    kernel_.read_sums();
    kernel_.run_for(2'000'000);
    feed();
}

std::optional<Check> Oracle::compare(ModelMm &mm, const Planner &planner) {
    feed();
    ledger_.watch(mm.address);
    kernel_.run_for(1'000'000, planner);
    const std::uint64_t begin_ns = kernel_.now();
    if (mm.users == 0) return std::nullopt;
    const std::optional<CounterReading> reading = kernel_.read_slowly(mm, planner);
    if (!reading) return std::nullopt;
    const std::uint64_t end_ns = kernel_.now();
    kernel_.run_for(1'000'000, planner);
    kernel_.read_sums();
    kernel_.run_for(2 * kOnItsWayNs, planner);
    feed();
    return ledger_.compare(*reading, begin_ns, end_ns);
}

void Oracle::expect_sums() {
    for (const ModelMm *mm : kernel_.traced_mms()) {
        const std::optional<MmView> view = ledger_.view(mm->address);
        if (!view) continue;
        EXPECT_EQ(sum_of(*view), view->exact());
        Members cached;
        for (const TaskNet &task : view->tasks)
            cached += task.cached.value_or(Members{});
        for (const CpuNet &cpu : view->cpus)
            cached += cpu.cached;
        EXPECT_EQ(cached, view->cached);
    }
}

void Oracle::expect_extremes(const ModelMm &mm, const MmView &view) {
    const Extreme &most = view.extremes.most;
    const Extreme &least = view.extremes.least;
    EXPECT_LE(most.from, mm.rss_most);
    EXPECT_GE(most.to, mm.rss_most) << "from " << most.from.n;
    EXPECT_LE(least.from, mm.rss_least) << "to " << least.to.n;
    EXPECT_GE(least.to, mm.rss_least);
    if (kernel_.options().scheme != Scheme::Cpu) return;
    // A CPU caches less than a batch of each member, and rss has three members.
    const std::int64_t each = kernel_.options().cpus * (kernel_.options().batch - 1);
    EXPECT_LE(view.extremes.lag.n, 3 * each);
    for (const Member member : kAllMembers)
        EXPECT_LE(view.extremes.cached_most[member].n, each) << name(member);
}

void Oracle::expect_tasks(const ModelMm &mm, const MmView &view) {
    const std::vector<ModelTask *> tasks = kernel_.tasks_of(mm);
    for (const ModelTask *task : tasks) {
        Reported reported;
        add_rows(view.tasks, task->tid, &reported);
        if (!kernel_.options().reuse_tids && !task->took_tid) add_rows(view.others, task->tid, &reported);
        EXPECT_LE(distance(reported.net, net_of(mm, *task)), reported.uncertain)
            << std::hex << mm.address << std::dec << " task " << task->tid << " took " << task->took_tid << ": "
            << testing::PrintToString(reported.net) << " but " << testing::PrintToString(net_of(mm, *task));
        EXPECT_EQ(ledger_.comm_of(task->tid), task->comm) << task->tid;
    }
    for (const TaskNet &row : view.tasks) {
        const bool there = std::any_of(tasks.begin(), tasks.end(),
                                       [&row](const ModelTask *task) { return task->tid == row.host_tid; });
        EXPECT_TRUE(there) << "task " << row.host_tid << " does not have this mm";
        EXPECT_EQ(row.tid, ns_pid(row.host_tid));
    }
}

void Oracle::expect_others(const ModelMm &mm, const MmView &view) {
    if (kernel_.options().reuse_tids) return;
    for (const ModelTask *task : kernel_.tasks()) {
        if (task->took_tid || mm.owners.count(task->serial) != 0) continue;
        Reported reported;
        add_rows(view.others, task->tid, &reported);
        EXPECT_LE(distance(reported.net, net_of(mm, *task)), reported.uncertain)
            << "other " << task->tid << ' ' << task->comm << ": " << testing::PrintToString(reported.net) << " but "
            << testing::PrintToString(net_of(mm, *task));
    }
}

void Oracle::expect_groups() {
    std::vector<int> expected;
    for (const ModelTask *task : kernel_.tasks()) {
        if (task->group->traced) expected.push_back(task->group->tgid);
    }
    std::sort(expected.begin(), expected.end());
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    std::vector<int> reported;
    for (const GroupView &group : ledger_.groups()) {
        reported.push_back(group.host_tgid);
        EXPECT_EQ(group.tgid, ns_pid(group.host_tgid));
        EXPECT_EQ(group.state, State::Running);
        for (const ModelTask *task : kernel_.tasks()) {
            if (task->group->tgid == group.host_tgid) {
                EXPECT_EQ(group.mm, task->mm->address) << group.host_tgid;
            }
        }
    }
    EXPECT_EQ(reported, expected);
}

void Oracle::expect_truth() {
    for (const ModelMm *mm : kernel_.traced_mms()) {
        const std::optional<MmView> view = ledger_.view(mm->address);
        ASSERT_TRUE(view.has_value());
        EXPECT_EQ(view->exact(), mm->exact);
        EXPECT_EQ(view->flushed, mm->count);
        EXPECT_EQ(view->updates + view->updates_by_others, mm->updates) << std::hex << mm->address;
        expect_extremes(*mm, *view);
        expect_tasks(*mm, *view);
        expect_others(*mm, *view);
    }
    expect_groups();
}

void Oracle::expect_ends() {
    kernel_.settle();
    kernel_.read_sums();
    // Open updates of an ended mm are settled once its CPUs have been silent for kSilentNs.
    kernel_.run_for(CounterHistory::kSilentNs + 2 * kOnItsWayNs);
    feed();
    EXPECT_EQ(ledger_.ended_mms(), kernel_.ended_mms());
    EXPECT_EQ(ledger_.ended_not_at_zero(), 0U);
}

std::int64_t Oracle::uncertain() const {
    std::int64_t sum = 0;
    for (const ModelMm *mm : kernel_.traced_mms()) {
        const std::optional<MmView> view = ledger_.view(mm->address);
        if (!view) continue;
        for (const TaskNet &task : view->tasks)
            sum += task.uncertain.n;
        for (const TaskNet &task : view->others)
            sum += task.uncertain.n;
    }
    return sum;
}

}  // namespace rsslag::core::test
