// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/capability.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
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

/// What a reading takes.
struct MapsRequest {
    bool pages = false;                                       ///< memory::count_pages()
    std::uint64_t limit = 0;                                  ///< of count_pages()
    std::string elf;                                          ///< memory::count_elf_pages(); empty: not
    std::shared_ptr<const memory::SampledRecording> samples;  ///< memory::resident_samples(); null: not
    std::atomic<bool> stop = false;                           ///< count no more pages
};

/// Reads the mappings and what else is requested. Waits for the mmap_lock of the process.
core::Result<memory::MappedProcess> read_mappings(memory::MapReader &reader, const procfs::Process &process,
                                                  const MapsRequest &request);

}  // namespace rsslag::session
