// SPDX-License-Identifier: BSD-2-Clause
// A profile in the formats of other tools. Pure: a profile in, bytes out. Functions that take a Write return its first
// error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "exporters/row.h"
#include "exporters/sink.h"
#include "profile/profile.h"

namespace rsslag::profile {

/// The format of flamegraph.pl: one line for each stack and value, "came;COMM;main;touch 40" in kB. Values are "came",
/// "went" and "resident" (Flow). The outermost function comes first; after the innermost one there may be a frame_of()
/// the reason. A stack that is not whole has its StackEnd in parentheses between COMM and its functions.
core::Status folded(const Profile &profile, const exporters::Facts &facts, const exporters::Write &write);

/// An uncompressed profile.proto of pprof, with the values "came", "went" and "resident" in bytes, and the labels
/// "thread" (comm), "reason", "pid", "tid" and, if the stack is not whole, "stack" (its StackEnd).
core::Status pprof(const Profile &profile, const exporters::Facts &facts, const exporters::Write &write);

/// https://www.speedscope.app/file-format-schema.json: the profiles "came", "went" and "resident", in bytes. A stack
/// has the same further frames as with folded().
core::Status speedscope(const Profile &profile, const exporters::Facts &facts, const exporters::Write &write);

/// Packets of Perfetto's trace format: for each process the heap profiles "pages that came", "pages that went" and
/// "pages that are still resident" at `t_ns` after the attach, in bytes.
std::string perfetto_heaps(const Profile &profile, const exporters::Facts &facts, std::uint64_t t_ns);

/// `rows`, which writes a trace for Perfetto, followed by perfetto_heaps() of a recording that has samples.
std::unique_ptr<exporters::Sink> with_perfetto_heaps(std::unique_ptr<exporters::Sink> rows, exporters::Write write);

/// Collects the profile of a recording and writes it in "folded", "pprof" or "speedscope"; nullptr: not such a format.
/// A recording without samples is an error (Kind::BadInput).
std::unique_ptr<exporters::Sink> sink(std::string_view format, exporters::Write write);

}  // namespace rsslag::profile
