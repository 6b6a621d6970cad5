// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/capability.h>

#include <memory>
#include <vector>

#include "core/result.h"
#include "memory/map_reader.h"
#include "system/snapshotter.h"

namespace rsslag::session {

/// Reads the mappings of processes, with exact counters if BPF can be used.
class ProcessMaps {
  public:
    /// Drops all capabilities except `chosen` and those that are needed to read counters and other users' files.
    static core::Result<ProcessMaps> open(const std::vector<cap_value_t> &chosen);

    /// Shared, so that a reading which is left behind may outlive this object.
    std::shared_ptr<memory::MapReader> reader() const { return reader_; }
    /// A document with all fields set except processes and failures.
    memory::MapsDocument document() const;

  private:
    explicit ProcessMaps(memory::MapReader reader) : reader_(std::make_shared<memory::MapReader>(std::move(reader))) {}

    std::shared_ptr<system::Snapshotter> snapshotter_;  ///< null: counters cannot be read; shared with reader_
    std::shared_ptr<memory::MapReader> reader_;
};

}  // namespace rsslag::session
