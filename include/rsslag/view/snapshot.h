// SPDX-License-Identifier: BSD-2-Clause
// What a snapshot shows, and the two ways to show it. Pure: state in, text out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/reading.h"
#include "rsslag/core/reconcile.h"
#include "rsslag/core/scheme.h"
#include "rsslag/core/sentence.h"
#include "rsslag/core/text.h"

namespace rsslag::view {

/// One process, read and judged.
struct ProcessReading {
    int pid = 0;
    std::optional<int> host_pid;
    std::uint64_t start_ticks = 0;
    std::uint32_t uid = 0;  ///< real
    std::string comm;       ///< raw bytes
    std::int64_t threads_count = 0;
    bool leader_gone = false;  ///< the main thread has ended: /proc/PID/stat, statm and status see no memory
    std::string mm_id;         ///< opaque; equal for processes that share an mm
    std::vector<int> mm_pids;  ///< of the groups that share it, as far as they are visible here
    core::ReaderValues readers;
    core::WalkState walk_state = core::WalkState::Skipped;
    std::optional<core::Walk> walk;
    std::int64_t walk_age_ms = 0;
    core::Reconciliation verdict;
    core::Bound bound;
    std::vector<core::TaskReading> tasks;  ///< of the mm
    std::size_t unlisted_tasks = 0;        ///< … that are not in this list
    std::vector<core::CpuReading> cpus;
    std::int64_t snapshot_us = 0;  ///< one counter reading, without the walk

    core::Finding finding() const;
};

struct FailedTarget {
    int pid = 0;
    std::string reason;
};

struct SnapshotDocument {
    std::chrono::system_clock::time_point time;
    std::string kernel;  ///< uname -r
    std::string arch;    ///< uname -m
    core::Machine machine;
    core::Calibration calibration;
    std::vector<ProcessReading> processes;
    std::vector<FailedTarget> failed;
};

/// Choices of the user and the terminal for text.
struct TextStyle {
    bool utf8 = true;
    bool color = false;
    core::PagesText pages = core::as_kb;
    std::string unit = "kB";   ///< heading of the columns that `column` fills
    std::size_t cachers = 20;  ///< rows of threads or CPUs before the rest is summed up
};

/// rsslag.snapshot/1 as docs/schema/snapshot.schema.json has it, one line, with a newline.
std::string snapshot_json(const SnapshotDocument &document);

/// For people: the sentence, the verdict, readers, members, who caches.
std::string snapshot_text(const SnapshotDocument &document, const ProcessReading &process, const TextStyle &style);

using core::utc_time;

}  // namespace rsslag::view
