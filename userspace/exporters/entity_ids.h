// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "exporters/row.h"

namespace rsslag::exporters {

/// Assigns unique numbers to processes and threads, since PIDs and TIDs are reused, and tracks mms.
class EntityIds {
  public:
    struct Process {
        int pid = 0;
        std::string comm;
        std::uint64_t first_t_ns = 0, last_t_ns = 0;
        std::optional<core::State> state;
    };
    struct Thread {
        std::optional<std::int64_t> process;
        int tid = 0;
        std::string comm;
        std::uint64_t first_t_ns = 0, last_t_ns = 0;
    };
    struct Mm {
        std::optional<std::int64_t> process;
        std::uint64_t first_t_ns = 0, last_t_ns = 0;
    };

    /// Numbers from 1; nullopt: not in the stamp.
    struct Ids {
        std::optional<std::int64_t> process, thread, mm;
    };

    Ids of(const Stamp &at);
    /// A task that starts gets a new number, even if its TID was used before.
    Ids of_task(const TaskRow &row);
    /// After an exit the PID belongs to a new process.
    Ids of_tick(const TickRow &row);
    std::int64_t thread_of(std::optional<std::int64_t> process, const core::TaskNet &task, std::uint64_t t_ns);

    const std::vector<Process> &processes() const { return processes_; }
    const std::vector<Thread> &threads() const { return threads_; }
    const std::map<std::uint64_t, Mm> &mms() const { return mms_; }

  private:
    std::int64_t process_of(int pid, std::uint64_t t_ns);
    std::int64_t thread_of(int tid, std::optional<std::int64_t> process, std::string_view comm, std::uint64_t t_ns);
    void see_mm(const Stamp &at, std::optional<std::int64_t> process);

    std::vector<Process> processes_;  ///< index: number − 1
    std::vector<Thread> threads_;
    std::map<std::uint64_t, Mm> mms_;
    std::unordered_map<int, std::int64_t> by_pid_, by_tid_;
};

}  // namespace rsslag::exporters
