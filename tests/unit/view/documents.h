// SPDX-License-Identifier: BSD-2-Clause
// Documents about processes that never were.
#pragma once

#include <cstdint>

#include "rsslag/view/doctor.h"
#include "rsslag/view/snapshot.h"

namespace rsslag::view::test {

core::Members members(std::int64_t file, std::int64_t anon, std::int64_t shmem = 0, std::int64_t swap = 0);

/// Linux 6.1: four threads cache, one of them less than nothing, one with a hostile name; all readers lag.
SnapshotDocument thread_document();

/// Linux 6.12 with the fix: two CPUs of four cache, one less than nothing in one member; statm and status are exact.
SnapshotDocument cpu_document();

/// Nothing could be read but the counters: no readers, no walk, no name in this PID namespace.
SnapshotDocument bare_document();

DoctorReport working_machine();
DoctorReport refusing_machine();

}  // namespace rsslag::view::test
