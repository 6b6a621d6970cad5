// SPDX-License-Identifier: BSD-2-Clause
#include "session/metrics_reader.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "documents/proc.h"
#include "metrics/groups.h"
#include "procfs/process.h"

namespace rsslag::session {

core::Result<MetricsReader> MetricsReader::open(MetricsOptions options) {
    if (core::Status there = metrics::supported(); !there) return there.error();
    MetricsReader reader(std::move(options));
    system::SnapshotterOptions readings;
    readings.walks = false;
    readings.capabilities = reader.options_.capabilities;
    if (reader.options_.by == metrics::By::Exe) readings.capabilities.push_back(CAP_SYS_PTRACE);
    auto all = system::AllProcesses::open(std::move(readings));
    if (all) {
        reader.all_.emplace(*std::move(all));
        return reader;
    }
    if (!reader.options_.or_proc || !system::can_fall_back_to_proc(all.error())) return all.error();
    auto proc = system::ProcReader::open(all.error());
    if (!proc) return proc.error();
    reader.proc_.emplace(*std::move(proc));
    return reader;
}

core::Status MetricsReader::read_all(metrics::Exposition &exposition) {
    auto pass = all_->read();
    if (!pass) return pass.error();
    metrics::oldest_first(pass->processes);
    exposition.machine = pass->facts.machine;
    exposition.kernel = pass->facts.kernel;
    metrics::Grouping grouping(exposition.machine);
    const pid_t self = getpid();
    for (const core::ProcessTotal &process : pass->processes) {
        grouping.add(names_.of(process.tgid, process.comm), process);
        if (process.tgid == self) own_resident_bytes_ = process.exact().rss().n * exposition.machine.page_size.bytes;
    }
    exposition.groups = grouping.take(options_.most);
    return core::success();
}

core::Status MetricsReader::read_proc(metrics::Exposition &exposition) {
    core::ProcDocument document = proc_->document();
    if (core::Status read = proc_->read_all(document); !read) return read;
    exposition.by_proc = true;
    exposition.machine.page_size = document.page_size;
    exposition.machine.cpus_online = document.cpus_online;
    exposition.kernel = document.kernel;
    metrics::Grouping grouping(exposition.machine);
    for (const core::FailedTarget &failed : document.failed) {
        core::ProcReading &unread = document.processes.emplace_back();
        unread.pid = failed.pid;
        const auto process = procfs::Process::open(failed.pid);
        const auto stat = process ? process->stat() : process.error();
        if (!stat) document.processes.pop_back();  // it has ended
        if (stat) unread.comm = stat->comm, unread.threads_count = stat->num_threads;
    }
    for (const core::ProcReading &process : document.processes)
        grouping.add(names_.of(process.pid, process.comm), process);
    exposition.groups = grouping.take(options_.most);
    return core::success();
}

std::string MetricsReader::note() const {
    return proc_ ? documents::proc_note(proc_->document()) : "";
}

core::Result<metrics::Exposition> MetricsReader::read() {
    const auto begin = std::chrono::steady_clock::now();
    metrics::Exposition exposition;
    exposition.version = options_.version;
    exposition.label = metrics::name(options_.by);
    if (core::Status read = all_ ? read_all(exposition) : read_proc(exposition); !read) return read.error();
    exposition.reading_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return exposition;
}

}  // namespace rsslag::session
