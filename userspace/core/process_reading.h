// SPDX-License-Identifier: BSD-2-Clause
// A process with its reading and verdict, and a machine with such processes: the input of the renderers and of ticks.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/mm_id.h"
#include "core/raw_reading.h"
#include "core/reading.h"
#include "core/reconcile.h"
#include "core/scheme.h"
#include "core/sentence.h"

namespace rsslag::core {

/// One process, read and reconciled.
struct ProcessReading {
    int pid = 0;
    std::optional<int> host_pid;
    std::uint64_t start_ticks = 0;
    std::uint32_t uid = 0;     ///< real
    std::string comm;          ///< raw bytes
    int ppid = 0;              ///< as RawReading::ppid
    std::string command_line;  ///< as RawReading::command_line
    std::int64_t threads_count = 0;
    bool leader_gone = false;  ///< the main thread has ended: /proc/PID/stat, statm and status show no memory
    std::string mm_id;         ///< opaque; equal for processes that share an mm
    /// PIDs of the groups that share the mm, as far as they are visible in this PID namespace.
    std::vector<int> mm_pids;
    ReaderValues readers;
    std::optional<Kilobytes> hugetlb;  ///< not part of RSS
    WalkState walk_state = WalkState::Skipped;
    std::optional<Walk> walk;
    std::int64_t walk_age_ms = 0;
    Reconciliation verdict;
    Bound bound;
    std::vector<TaskReading> tasks;  ///< of the mm
    std::size_t unlisted_tasks = 0;  ///< number of tasks of the mm that `tasks` leaves out
    std::vector<CpuReading> cpus;
    std::int64_t snapshot_us = 0;  ///< duration of one counter reading, without the walk

    /// The input for sentence().
    Finding finding() const;
};

/// A process that could not be read.
struct FailedTarget {
    int pid = 0;
    std::string reason;  ///< one line; may include the remedy
};

/// A list of processes with facts about the machine.
struct SnapshotDocument {
    std::chrono::system_clock::time_point time;
    std::string kernel;  ///< uname -r
    std::string arch;    ///< uname -m
    Machine machine;
    Calibration calibration;
    std::vector<ProcessReading> processes;
    std::vector<FailedTarget> failed;
};

/// Reconciles a reading. Pure.
ProcessReading process_reading_of(const RawReading &raw, const Machine &machine, const IdKey &id_key);

}  // namespace rsslag::core
