// SPDX-License-Identifier: BSD-2-Clause
// Ticks of traces that never were.
#pragma once

#include "rsslag/view/tick.h"

namespace rsslag::view::test {

/// Linux 6.1: the process of thread_document(), quiet, as the ledger has it; lists all threads.
Tick thread_tick();

/// Linux 6.12 with the fix: the process of cpu_document(); two threads, a few pages of theirs uncertain.
Tick cpu_tick();

/// The last of thread_tick()'s process: nothing is left, and nothing is read any more.
Tick ended_tick();

/// Moves the ledger on since the reading: the process is busy.
Tick moving_tick();

/// An hour's trace on Linux 6.1, with losses.
Summary thread_summary();

/// A short one on Linux 6.12, without.
Summary cpu_summary();

EventLine fault_event();
EventLine fold_event();

}  // namespace rsslag::view::test
