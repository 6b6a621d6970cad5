// SPDX-License-Identifier: BSD-2-Clause
#include "documents.h"

namespace rsslag::documents::test {
namespace {

using core::Members;
using core::Truth;

constexpr core::PageSize kPageSize{4096};

core::TaskReading task(int tid, const std::string &comm, const Members &cached, int faults) {
    core::TaskReading task;
    task.tid = tid;
    task.tgid = 4711;
    task.host_tid = tid + 100'000;
    task.host_tgid = 104'711;
    task.comm = comm;
    task.cached = cached;
    task.faults_since_flush = faults;
    return task;
}

/// The result of reconcile() for a quiescent process whose walk agrees.
core::Reconciliation agreeing(const Members &flushed, const Members &cached) {
    core::Reconciliation verdict;
    verdict.flushed = flushed;
    verdict.cached = cached;
    verdict.exact = flushed + cached;
    verdict.window = {verdict.exact.rss(), verdict.exact.rss()};
    verdict.verdict = core::Verdict::Agrees;
    verdict.residual = core::Pages{0};
    return verdict;
}

core::Walk walk_of(const Members &exact) {
    core::Walk walk;
    walk.rss = kPageSize.kb(exact.rss());
    walk.pss = {walk.rss.n / 2};
    walk.swap = kPageSize.kb(exact.swap);
    walk.took_us = 512;
    return walk;
}

/// What the files of /proc show for these counters.
core::ReaderValues readers(const Members &stat, const Members &others) {
    core::ReaderValues values;
    values.stat = core::clamped_rss(stat);
    values.statm = core::clamped_rss(others);
    values.status_rss = kPageSize.kb(core::clamped_rss(others));
    for (const core::Member member : core::kAllMembers)
        values.status(member) = kPageSize.kb(others[member]);
    values.status_hwm = kPageSize.kb(core::clamped_rss(others) + core::Pages{7});
    return values;
}

SnapshotDocument document(const char *kernel, core::Scheme scheme, int cpus, const core::Calibration &calibration) {
    SnapshotDocument document;
    document.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'717'761'600'042));
    document.kernel = kernel;
    document.arch = "x86_64";
    document.machine = {scheme, kPageSize, cpus, 2 * cpus};
    document.calibration = calibration;
    return document;
}

ProcessReading process(const char *comm, const Members &flushed, const Members &cached) {
    ProcessReading process;
    process.pid = 4711;
    process.host_pid = 104'711;
    process.start_ticks = 179'786;
    process.uid = 1000;
    process.comm = comm;
    process.mm_id = "9f86d081884c7d65";
    process.mm_pids = {4711};
    process.walk_state = core::WalkState::Done;
    process.verdict = agreeing(flushed, cached);
    process.walk = walk_of(process.verdict.exact);
    process.walk_age_ms = 1;
    process.snapshot_us = 73;
    return process;
}

}  // namespace

Members members(std::int64_t file, std::int64_t anon, std::int64_t shmem, std::int64_t swap) {
    return {{file}, {anon}, {swap}, {shmem}};
}

SnapshotDocument thread_document() {
    SnapshotDocument result =
        document("6.1.0-51-amd64", core::Scheme::Thread, 2, {Truth::Flushed, Truth::Flushed, Truth::Flushed});
    const Members flushed = members(400, 19'500, 91, 300);
    ProcessReading reading = process("hundred", flushed, members(5, 115, 2, 1));
    reading.tasks = {task(4711, "hundred", {}, 3), task(4712, "worker", members(2, 58), 60),
                     task(4713, "a\x1b[31m\u202E\n", members(0, -3, 0, 1), 4),
                     task(4714, "w\u00F6rker", members(3, 0, 2), 5), task(4715, "worker", members(0, 60), 60)};
    reading.threads_count = 5;
    reading.readers = readers(flushed, flushed);
    reading.bound = core::bound(result.machine, 5);
    result.processes = {reading};
    result.failed = {{99, "there is no process 99"}};
    return result;
}

SnapshotDocument cpu_document() {
    SnapshotDocument result =
        document("6.12.48+deb13-amd64", core::Scheme::Cpu, 4, {Truth::Flushed, Truth::Exact, Truth::Exact});
    const Members flushed = members(1'024, 512, 2'048);
    ProcessReading reading = process("pinned", flushed, members(-4, 62, 9));
    reading.cpus = {{0, members(0, 31)}, {3, members(-4, 31, 9)}};
    reading.tasks = {task(4711, "pinned", {}, 0)};
    reading.threads_count = 1;
    reading.readers = readers(flushed, reading.verdict.exact);
    reading.bound = core::bound(result.machine, 1);
    result.processes = {reading};
    return result;
}

SnapshotDocument bare_document() {
    SnapshotDocument result = document("6.1.0", core::Scheme::Thread, 2, {});
    ProcessReading reading = process("bare", members(1, 2), {});
    reading.host_pid.reset();
    reading.walk.reset();
    reading.walk_state = core::WalkState::Denied;
    reading.verdict.verdict = core::Verdict::Unwalked;
    reading.verdict.residual.reset();
    reading.tasks = {task(0, "elsewhere", members(0, 1), 1)};
    reading.tasks[0].tgid = 0;
    reading.verdict.cached = members(0, 1);
    reading.verdict.exact = members(1, 3);
    reading.verdict.window = {{4}, {4}};
    result.processes = {reading};
    return result;
}

DoctorReport working_machine() {
    DoctorReport report;
    report.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'717'761'600'042));
    report.kernel = "6.12.48+deb13-amd64";
    report.arch = "x86_64";
    report.machine = {core::Scheme::Cpu, kPageSize, 32, 64};
    report.scheme = core::Scheme::Cpu;
    report.scheme_evidence = "mm_struct.rss_stat is percpu_counter[4], each CPU caches up to a batch";
    report.btf = true;
    report.task_iterator = true;
    report.task_iterator_by_group = true;
    report.hooks = {{"tp_btf/rss_stat", true, ""}, {"fexit/handle_mm_fault", false, "Operation not permitted"}};
    report.capabilities = {{"CAP_BPF", true, ""}, {"CAP_PERFMON", true, ""}, {"CAP_SYS_PTRACE", false, "not held"}};
    report.lockdown = "none";
    report.hidepid = 0;
    report.page_monitor = true;
    report.memlock_bytes = 8'388'608;
    report.calibration = core::Calibration{Truth::Flushed, Truth::Exact, Truth::Exact};
    report.calibration_us = 3'140;
    report.setcap_remedy = "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep ./rsslag";
    report.problems = {{"CAP_SYS_PTRACE is missing", "setcap it", false}};
    return report;
}

DoctorReport refusing_machine() {
    DoctorReport report;
    report.kernel = "5.10.0";
    report.arch = "aarch64";
    report.machine = {core::Scheme::Plain, core::PageSize{65536}, 1, 1};
    report.scheme_evidence = "no BTF";
    report.capabilities = {{"CAP_BPF", false, "not held"}};
    report.seccomp_mode = 2;
    report.hidepid = 2;
    report.problems = {{"this kernel has no readable BTF", "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y", true}};
    return report;
}

}  // namespace rsslag::documents::test
