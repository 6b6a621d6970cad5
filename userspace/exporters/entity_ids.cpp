// SPDX-License-Identifier: BSD-2-Clause
#include "entity_ids.h"

namespace rsslag::exporters {

std::int64_t EntityIds::process_of(int pid, std::uint64_t t_ns) {
    const auto [found, is_new] = by_pid_.try_emplace(pid, static_cast<std::int64_t>(processes_.size()) + 1);
    if (is_new) processes_.push_back({pid, "", t_ns, t_ns, std::nullopt});
    processes_[static_cast<std::size_t>(found->second) - 1].last_t_ns = t_ns;
    return found->second;
}

std::int64_t EntityIds::thread_of(int tid, std::optional<std::int64_t> process, std::string_view comm,
                                  std::uint64_t t_ns) {
    const auto [found, is_new] = by_tid_.try_emplace(tid, static_cast<std::int64_t>(threads_.size()) + 1);
    if (is_new) threads_.push_back({process, tid, "", t_ns, t_ns});
    Thread &thread = threads_[static_cast<std::size_t>(found->second) - 1];
    thread.last_t_ns = t_ns;
    if (!comm.empty() && thread.comm != comm) thread.comm = comm;
    return found->second;
}

std::int64_t EntityIds::thread_of(std::optional<std::int64_t> process, const core::TaskNet &task, std::uint64_t t_ns) {
    const std::int64_t number = thread_of(task.tid, process, task.comm, t_ns);
    // The thread may be known from an update, without its process; a tick gives the process.
    threads_[static_cast<std::size_t>(number) - 1].process = process;
    return number;
}

void EntityIds::see_mm(const Stamp &at, std::optional<std::int64_t> process) {
    const auto [found, is_new] = mms_.try_emplace(at.mm, Mm{process, at.t_ns, at.t_ns});
    found->second.last_t_ns = at.t_ns;
    if (!found->second.process) found->second.process = process;
}

EntityIds::Ids EntityIds::of(const Stamp &at) {
    Ids ids;
    if (at.pid > 0) ids.process = process_of(at.pid, at.t_ns);
    if (at.tid > 0) ids.thread = thread_of(at.tid, std::nullopt, at.comm, at.t_ns);
    if (at.mm != 0) {
        ids.mm = static_cast<std::int64_t>(at.mm);
        see_mm(at, ids.process);
    }
    return ids;
}

EntityIds::Ids EntityIds::of_task(const TaskRow &row) {
    const bool starts = row.type == TaskRow::Type::ThreadStart || row.type == TaskRow::Type::Fork;
    if (starts) by_tid_.erase(row.at.tid);
    const Ids ids = of(row.at);
    if (ids.thread && row.type != TaskRow::Type::Seen)
        threads_[static_cast<std::size_t>(*ids.thread) - 1].process = ids.process;
    return ids;
}

EntityIds::Ids EntityIds::of_tick(const TickRow &row) {
    const Ids ids = of(row.at);
    if (!ids.process) return ids;
    Process &process = processes_[static_cast<std::size_t>(*ids.process) - 1];
    process.comm = row.at.comm;
    process.state = row.state;
    if (row.state == core::State::Exited) by_pid_.erase(row.at.pid);
    return ids;
}

}  // namespace rsslag::exporters
