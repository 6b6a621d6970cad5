// SPDX-License-Identifier: BSD-2-Clause
// Renderers of the table of all processes: text and JSON. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/reading.h"
#include "core/tick.h"
#include "documents/snapshot.h"

namespace rsslag::documents {

/// Who runs a process, where and how: raw bytes, each empty if it is not known.
struct ProcessNames {
    std::string user, cgroup, command_line;
};

/// A process as `top` lists it.
struct TopProcess {
    core::ProcessTotal total;
    std::string mm_id;  ///< as ProcessReading::mm_id; empty if it is not needed
    ProcessNames names{};

    /// The exact rss minus the flushed one as /proc/PID/stat shows it, with each member at least 0 (fs/proc/array.c
    /// do_task_stat).
    core::Pages lag() const { return core::lag(total.exact(), total.flushed); }
};

/// All processes as one pass of the BPF iterator read them.
struct TopTable {
    std::chrono::system_clock::time_point time;
    std::string kernel;
    std::string arch;
    core::Machine machine;
    core::Calibration calibration;
    std::vector<TopProcess> processes;
    std::int64_t pass_us = 0;  ///< duration of that pass
    core::OwnCost own;
};

enum class TopSort : std::uint8_t { Lag, Exact, Cached, Name };
std::string_view name(TopSort sort);

/// Sorts sizes in descending and names in ascending order; equal ones by host PID.
void sort_top(std::vector<TopProcess> &processes, TopSort sort);

/// `--once`: the first `rows` processes (0: all) in order, as text and as rsslag.top/1 (docs/schema/top.schema.json).
std::string top_text(TopTable table, TopSort sort, std::size_t rows, const TextStyle &style);
std::string top_json(TopTable table, TopSort sort, std::size_t rows);

}  // namespace rsslag::documents
