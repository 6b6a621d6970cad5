// SPDX-License-Identifier: BSD-2-Clause
// A small recording with every kind of row.
#pragma once

#include <string>
#include <vector>

#include "exporters/sink.h"

namespace rsslag::exporters::test {

inline constexpr std::uint64_t kSecond = 1'000'000'000;

/// A name that a terminal, a spreadsheet or an SVG file would execute.
extern const std::string kHostile;

Facts facts(core::Scheme scheme = core::Scheme::Thread);
core::Members members(std::int64_t file, std::int64_t anon, std::int64_t shmem = 0, std::int64_t swap = 0);

/// Owns the names and ledgers that the rows refer to.
struct Recorded {
    Facts head;
    std::vector<Row> rows;
    Ending ending;

    /// Writes all rows. Returns the first error.
    core::Status into(Sink &sink) const;
};

/// One of each type, two processes, a thread with a hostile name; the lag is largest at the second tick of pid 10.
Recorded recorded(core::Scheme scheme = core::Scheme::Thread);

UpdateRow update(std::uint64_t t_ns, int pid, int tid, core::Member member, std::int64_t pages);
TickRow tick(std::uint64_t t_ns, int pid, std::int64_t exact, std::int64_t reported);

}  // namespace rsslag::exporters::test
