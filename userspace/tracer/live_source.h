// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "core/result.h"
#include "core/samples.h"
#include "tracer/source.h"

namespace rsslag::tracer {

struct LiveOptions {
    std::size_t ring_bytes = 0, memory_bytes = 0;  ///< as probe::StreamProbe::Options
    bool follow = false;
    bool counting = false;
    core::SampleOptions samples;
    bool names = false;                       ///< report changes of mappings
    bool calibrated = true;                   ///< as SnapshotterOptions::calibrated
    bool dropped = false;                     ///< as SnapshotterOptions::dropped
    std::function<bool()> stop_waiting = {};  ///< as SnapshotterOptions::stop_waiting
    bool command_lines = false;               ///< as SnapshotterOptions::command_lines
    pid_t helper = 0;                         ///< a process whose cost is rsslag's, too; 0: none
};

/// Attaches the probes to the running kernel; no process is traced yet. Kind::Unsupported in a build without the
/// tracer; else errors as probe::StreamProbe::open() and Snapshotter::open().
core::Result<std::unique_ptr<Source>> open_live_source(const LiveOptions &options);

}  // namespace rsslag::tracer
