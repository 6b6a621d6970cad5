// SPDX-License-Identifier: BSD-2-Clause
// What the BPF program of an exec reads of a process that matches a pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/event.h"
#include "core/scheme.h"
#include "rsslag/abi.h"

namespace rsslag::tracer {

/// Makes events of RSSLAG_AT_EXEC records.
class AtExecRecords {
  public:
    /// Removes these records from those of a ring, and returns an event for each exec whose last record is among them.
    /// An exec of which records are missing yields none.
    std::vector<event::AtExec> take(core::Scheme scheme, std::vector<std::byte> &ring);

  private:
    std::map<std::uint64_t, std::vector<rsslag_at_exec>> parts_;  ///< by mm: the records before the last one
};

}  // namespace rsslag::tracer
