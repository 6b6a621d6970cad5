// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/capability.h>

#include <memory>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/host/snapshotter.h"
#include "rsslag/memory/map_reader.h"

namespace rsslag::cli {

/// Mappings and counters of this machine's processes, put together.
class ProcessMaps {
  public:
    /// Keeps of its capabilities only what reading other users' files takes, and those of `chosen`.
    static core::Result<ProcessMaps> open(const std::vector<cap_value_t> &chosen);

    memory::MapReader &reader() { return reader_; }
    /// With everything but processes and failures filled in.
    memory::MapsDocument document() const;

  private:
    explicit ProcessMaps(memory::MapReader reader) : reader_(std::move(reader)) {}

    std::shared_ptr<host::Snapshotter> snapshotter_;  ///< null: counters cannot be read; the reader uses it too
    memory::MapReader reader_;
};

}  // namespace rsslag::cli
