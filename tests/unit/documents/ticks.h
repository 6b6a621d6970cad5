// SPDX-License-Identifier: BSD-2-Clause
// Ticks of made-up traces.
#pragma once

#include "documents/tick.h"

namespace rsslag::documents::test {

/// Linux 6.1: the quiescent process of thread_document(), from the ledger; lists all threads.
Tick thread_tick();

/// Linux 6.12 with the fix: the process of cpu_document(), with two threads, of whose pages a few are uncertain.
Tick cpu_tick();

/// The last tick of thread_tick()'s process: all values are 0, and there is no reading.
Tick ended_tick();

/// Changes the ledger after the reading, as for a busy process.
Tick moving_tick();

/// An hour's trace on Linux 6.1, with losses.
Summary thread_summary();

/// A short trace on Linux 6.12, without losses.
Summary cpu_summary();

EventLine fault_event();
EventLine fold_event();

}  // namespace rsslag::documents::test
