// SPDX-License-Identifier: BSD-2-Clause
// The ways to show what a trace tells at each tick without a screen. Pure: state in, text out.
#pragma once

#include <string>

#include "rsslag/core/tick.h"
#include "rsslag/view/snapshot.h"

namespace rsslag::view {

using core::EventLine;
using core::LoggedFlush;
using core::OwnCost;
using core::Summary;
using core::TaskLine;
using core::ThreadChoice;
using core::Tick;

/// rsslag.tick/2 as docs/schema/tick.schema.json has it, one line.
std::string tick_json(const Tick &tick);
/// rsslag.summary/2 likewise.
std::string summary_json(const Summary &summary);

/// RFC 4180: the names of the columns, and one flat row a process and tick. CRLF as the RFC has it.
std::string csv_header();
std::string tick_csv(const Tick &tick, std::uint64_t lines_dropped = 0);

/// What stands where lines of the output are missing, as they came faster than they were read: rsslag.gap/1, or a line.
std::string gap_json(std::uint64_t lines);
std::string gap_text(std::uint64_t lines, const TextStyle &style);
/// All of them at the end.
std::string dropped_text(std::uint64_t lines);

/// For people without a screen: `tick_lines` is one line, and where `with_threads` is set an indented one for each
/// listed thread and for what is in none of these; line_header says what the columns are. Marks are those of
/// docs/words.md.
std::string line_header(const TextStyle &style);
std::string tick_lines(const Tick &tick, const TextStyle &style, bool with_threads);
std::string summary_text(const Summary &summary, const TextStyle &style);

/// One record a line, as strace would: for --events.
std::string event_text(const EventLine &event, const TextStyle &style);
std::string event_json(const EventLine &event);

std::string task_text(const TaskLine &event, const TextStyle &style);
std::string task_json(const TaskLine &event);

}  // namespace rsslag::view
