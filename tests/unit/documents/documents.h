// SPDX-License-Identifier: BSD-2-Clause
// Documents about made-up processes.
#pragma once

#include <cstdint>

#include "documents/doctor.h"
#include "documents/snapshot.h"

namespace rsslag::documents::test {

core::Members members(std::int64_t file, std::int64_t anon, std::int64_t shmem = 0, std::int64_t swap = 0);

/// Linux 6.1: four threads cache, one of them a negative amount, one with a hostile name. All files of /proc lag.
SnapshotDocument thread_document();

/// Linux 6.12 with the fix: two CPUs of four cache, one of them a negative amount of one member. statm and status are
/// exact.
SnapshotDocument cpu_document();

/// Only the counters could be read: no files of /proc, no walk, no name in this PID namespace.
SnapshotDocument bare_document();

DoctorReport working_machine();
DoctorReport refusing_machine();

}  // namespace rsslag::documents::test
