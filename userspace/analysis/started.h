// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace rsslag::analysis {

/// A process whose trace starts with a record, or one with a new thread: the record of its own start may be lost.
struct Started {
    int pid = 0;              ///< in rsslag's PID namespace
    std::uint64_t t_ns = 0;   ///< of the record
    int parent_host_tid = 0;  ///< the thread that forked it; 0: the record is that of an exec or of a thread
};

}  // namespace rsslag::analysis
