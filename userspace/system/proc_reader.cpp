// SPDX-License-Identifier: BSD-2-Clause
#include "system/proc_reader.h"

#include <cerrno>
#include <utility>

#include "proc_files.h"
#include "system/experiment.h"
#include "system/machine.h"
#include "system/privileges.h"
#include "system/targets.h"

namespace rsslag::system {
namespace {

using core::Kind;

bool moved(const core::ReaderValues &before, const core::ReaderValues &after) {
    return before.stat != after.stat || before.status_rss != after.status_rss;
}

/// If the main thread has ended, compares values of living threads: these need not be of one thread, but are of one mm.
bool moved(const Counted &before, const Counted &after) {
    if (before.living.has_value() != after.living.has_value()) return true;
    return moved(before.living.value_or(before.readers), after.living.value_or(after.readers));
}

}  // namespace

bool can_fall_back_to_proc(const core::Error &why) {
    // A temporary lack is reported as an error: with more memory or descriptors rsslag could be exact.
    if (why.err == ENOMEM || why.err == EMFILE || why.err == ENFILE) return false;
    return why.kind == Kind::Denied || why.kind == Kind::Unsupported;
}

core::Result<ProcReader> ProcReader::open(const core::Error &why, std::function<bool()> stop_waiting, bool dropped) {
    if (const core::Status there = procfs::own_proc(); !there) return there.error();
    // Capabilities may be there: a seccomp filter can refuse BPF to root, too.
    const core::Status kept = dropped ? core::success() : keep_only(std::vector<cap_value_t>{CAP_SYS_PTRACE});
    if (!kept) return kept.error();
    const Host host = this_host();
    core::ProcDocument facts;
    facts.kernel = host.kernel;
    facts.arch = host.arch;
    facts.page_size = host.machine.page_size;
    facts.cpus_online = host.machine.cpus_online;
    facts.calibration = experiment();
    facts.why_no_bpf = why.remedy.empty() ? why.what : why.what + "; " + why.remedy;
    ProcReader reader(std::move(facts));
    if (stop_waiting) reader.walker_ = std::make_unique<Walker>(std::move(stop_waiting));
    return reader;
}

core::Result<core::ProcReading> ProcReader::take(const procfs::Process &process, bool walk) const {
    const auto stat = process.leader_stat();
    if (!stat) return stat.error();
    if (const auto why = why_unreadable(process)) return *why;
    core::ProcReading reading;
    reading.pid = process.pid();
    reading.start_ticks = stat->start_ticks;
    reading.comm = stat->comm;
    reading.threads_count = stat->num_threads;
    reading.leader_gone = stat->zombie();
    const Counted counted = read_counted(process);
    reading.readers = counted.readers;
    reading.living = counted.living;
    reading.uid = counted.uid;
    reading.hugetlb = counted.hugetlb;
    if (walk) {
        const Walked walked = locked(walker_.get(), process, walk_any).value_or(Walked{});
        reading.walk_state = walked.state;
        reading.walk = walked.walk;
        reading.moved = moved(counted, read_counted(process));
    }
    // The descriptor identifies the process: this fails if it has ended, even if its PID is in use again.
    if (const auto end = process.leader_stat(); !end) return end.error();
    core::reconcile(reading, facts_.calibration, facts_.page_size);
    return reading;
}

core::Status ProcReader::read_all(core::ProcDocument &document) const {
    const auto pids = procfs::list_processes();
    if (!pids) return pids.error();
    for (const pid_t pid : *pids) {
        const auto process = procfs::Process::open(pid);
        auto reading = process ? take(*process, facts_.calibration.status != core::Truth::Exact)
                               : core::Result<core::ProcReading>(process.error());
        if (reading) {
            document.processes.push_back(std::move(*reading));
        } else if (const Kind kind = reading.error().kind; kind != Kind::Gone && kind != Kind::Unsupported) {
            document.failed.push_back({pid, reading.error().what});
        }
    }
    return core::success();
}

core::ProcDocument ProcReader::document() const {
    core::ProcDocument document = facts_;
    document.time = std::chrono::system_clock::now();
    return document;
}

}  // namespace rsslag::system
