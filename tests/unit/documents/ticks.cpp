// SPDX-License-Identifier: BSD-2-Clause
#include "ticks.h"

#include "documents.h"

namespace rsslag::documents::test {
namespace {

using core::FlushReason;
using core::Members;
using core::TaskNet;

constexpr std::uint64_t kSecondNs = 1'000'000'000;

TaskNet thread(int tid, const std::string &comm, const Members &net, std::uint64_t updates) {
    TaskNet task;
    task.tid = tid;
    task.tgid = 4711;
    task.host_tid = tid + 100'000;
    task.comm = comm;
    task.net = net;
    task.updates = updates;
    task.faults = 2 * updates;
    return task;
}

TaskNet caching(TaskNet task, const Members &cached, std::uint64_t flushes, std::uint64_t last_flush_ns) {
    task.cached = cached;
    task.flushes = flushes;
    task.last_flush_ns = last_flush_ns;
    return task;
}

std::uint64_t &count(core::MmView &mm, FlushReason reason) {
    return mm.flushes[static_cast<std::size_t>(reason)];
}

Tick tick_of(const SnapshotDocument &document) {
    Tick tick;
    tick.seq = 12;
    tick.time = document.time;
    tick.t_ns = 30 * kSecondNs;
    tick.page_size = document.machine.page_size;
    tick.scheme = document.machine.scheme;
    tick.calibration = document.calibration;
    tick.process = document.processes.at(0);
    tick.ledger.flushed = tick.process.verdict.flushed;
    tick.ledger.cached = tick.process.verdict.cached;
    tick.ledger.rss_min = tick.ledger.rss_max = tick.ledger.exact().rss();
    tick.lost_by = {{"filter", 0}, {"ring", 0}};
    tick.threads.which = ThreadChoice::Which::All;
    tick.own = {0.314, 121.4, {14'336}, core::Kilobytes{4'096}};
    return tick;
}

}  // namespace

Tick thread_tick() {
    Tick tick = tick_of(thread_document());
    tick.faults = 26'147;
    core::MmView &mm = tick.ledger;
    mm.baseline = members(300, 15'000, 90, 300);
    mm.tasks = {caching(thread(4711, "hundred", members(40, 1'000), 30), {}, 12, 0),
                caching(thread(4712, "worker", members(60, 2'000), 70), members(2, 58), 30, 8'300'000'000),
                caching(thread(4713, "a\x1b[31m\u202E\n", members(0, -3, 0, 1), 4), members(0, -3, 0, 1), 0, 0),
                caching(thread(4714, "w\u00F6rker", members(3, 0, 2), 5), members(3, 0, 2), 1, 29'999'000'000),
                caching(thread(4715, "worker", members(0, 600), 20), members(0, 60), 9, 31'000'000'000)};
    mm.exited = {7, members(2, 1'028, 1), 90, 40, 20, {}};
    mm.others = {thread(61, "kswapd0", members(0, -10), 10)};
    mm.updates = 1'204;
    mm.updates_by_others = 10;
    count(mm, FlushReason::Threshold) = 301;
    count(mm, FlushReason::Zap) = 8;
    count(mm, FlushReason::Exit) = 5;
    count(mm, FlushReason::Direct) = 20;
    return tick;
}

Tick cpu_tick() {
    Tick tick = tick_of(cpu_document());
    tick.faults = 3'584;
    core::MmView &mm = tick.ledger;
    mm.baseline = members(1'000, 500, 2'000);
    mm.tasks = {thread(4711, "pinned", members(20, 80, 50), 150), thread(4716, "rx-07", members(0, -6, 7), 20)};
    mm.tasks[0].uncertain = {3};
    mm.tasks[0].flushes = 17;
    mm.tasks[0].last_flush_ns = 29 * kSecondNs;
    mm.cpus = {{0, members(0, 31), 12}, {1, {}, 2}, {3, members(-4, 31, 9), 3}};
    mm.updates = 170;
    count(mm, FlushReason::Fold) = 17;
    return tick;
}

Tick ended_tick() {
    Tick tick = thread_tick();
    tick.state = core::State::Exited;
    tick.read = false;
    core::MmView &mm = tick.ledger;
    mm.torn_down = true;
    for (const TaskNet &task : mm.tasks) {
        mm.exited.threads += 1;
        mm.exited.net += task.net;
    }
    mm.tasks.clear();
    mm.exited.net = mm.exited.net - (mm.flushed + mm.cached);
    mm.flushed = mm.cached = {};
    mm.rss_min = {};
    return tick;
}

Tick moving_tick() {
    Tick tick = thread_tick();
    core::MmView &mm = tick.ledger;
    mm.flushed.anon += {64};
    mm.tasks[1].net.anon += {64};
    mm.rss_max = mm.exact().rss() + core::Pages{5};
    tick.window_updates = 9;
    return tick;
}

Summary thread_summary() {
    Summary summary;
    summary.time = thread_document().time;
    summary.duration_ns = 3'723 * kSecondNs;
    summary.scheme = core::Scheme::Thread;
    summary.kernel = "6.1.0-51-amd64";
    summary.ticks = 3'724;
    summary.records = 26'135;
    summary.emitted = 26'147;
    summary.updates = 1'204;
    summary.updates_by_others = 10;
    summary.faults = 26'147;
    summary.flushes = 314;
    summary.flush_reasons = {{"threshold", 301}, {"zap", 8}, {"exec", 0}, {"exit", 5}, {"direct", 20}};
    summary.lost = 12;
    summary.lost_by = {{"filter", 0}, {"ring", 12}};
    summary.resyncs = 1;
    summary.disagreements = 2;
    summary.ended_mms = 3;
    summary.ended_not_at_zero = 1;
    Summary::Process process;
    process.pid = 4711;
    process.comm = "hundred";
    process.state = core::State::Exited;
    process.extremes.lag = {6'072};
    process.extremes.lag_t_ns = 12'345'678'901;
    process.extremes.most.from = process.extremes.most.to = {30'000};
    process.extremes.most.t_ns = 11'000'000'000;
    process.extremes.most.tid = 4712;
    process.baseline = process.at_start = members(300, 15'000, 90, 300);
    process.verdicts = {{"agrees", 3'700}, {"moving", 23}, {"unwalked", 1}};
    summary.processes = {process};
    summary.own = {0.314, 121.4, {14'336}};
    return summary;
}

Summary cpu_summary() {
    Summary summary = thread_summary();
    summary.duration_ns = 12'345'678'901;
    summary.scheme = core::Scheme::Cpu;
    summary.kernel = "6.12.48+deb13-amd64";
    summary.records = summary.emitted;
    summary.flushes = 17;
    summary.flush_reasons = {{"fold", 17}};
    summary.lost = summary.resyncs = summary.disagreements = summary.ended_not_at_zero = 0;
    summary.lost_by = {{"filter", 0}, {"ring", 0}};
    summary.processes[0].state = core::State::Running;
    summary.processes[0].extremes.lag = {};
    summary.processes[0].final = summary.processes[0].last = members(1'020, 574, 2'057);
    summary.own.bpf_ns_per_event.reset();
    return summary;
}

EventLine fault_event() {
    EventLine event;
    event.t_ns = 12'345'678'901;
    event.pid = 4711;
    event.tid = 4715;
    event.comm = "worker-03";
    event.cpu = 1;
    event.update.kind = RSSLAG_UPDATE;
    event.update.flags = RSSLAG_OF_USER_FAULT | RSSLAG_OWN;
    event.update.tid = 104'715;
    event.update.mm = 0xffff888104ab3c00;
    event.update.address = 0x7f12'3456'7000;
    event.update.count = 19'991;
    event.update.cached = 17;
    event.update.member = 1;
    event.applied = {true, core::Pages{1}, std::nullopt};
    event.page_size = {4096};
    return event;
}

EventLine fold_event() {
    EventLine event = fault_event();
    event.update.flags = RSSLAG_OWN;
    event.update.cached = 0;
    event.applied = {true, std::nullopt, FlushReason::Fold};
    return event;
}

}  // namespace rsslag::documents::test
