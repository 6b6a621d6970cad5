// SPDX-License-Identifier: BSD-2-Clause
// Renderers of a trace without a screen: JSON, CSV and text. Pure.
#pragma once

#include <string>

#include "core/tick.h"
#include "documents/snapshot.h"

namespace rsslag::documents {

using core::EventLine;
using core::LoggedFlush;
using core::OwnCost;
using core::Summary;
using core::TaskLine;
using core::ThreadChoice;
using core::Tick;

/// rsslag.tick/2 (docs/schema/tick.schema.json): one line.
std::string tick_json(const Tick &tick);
/// rsslag.summary/2 (docs/schema/summary.schema.json): one line.
std::string summary_json(const Summary &summary);

/// RFC 4180 with CRLF: the names of the columns, and one flat row for each process and tick. `lines_dropped`: lines of
/// the output that were dropped so far, in the last column.
std::string csv_header();
std::string tick_csv(const Tick &tick, std::uint64_t lines_dropped = 0);

/// The line in place of lines that were dropped because the reader was too slow: rsslag.gap/1, or text.
std::string gap_json(std::uint64_t lines);
std::string gap_text(std::uint64_t lines, const TextStyle &style);
/// The total of dropped lines, for the end of the output.
std::string dropped_text(std::uint64_t lines);

/// Text without a screen: tick_lines() returns one line; with `with_threads` also an indented line for each listed
/// thread and for the remaining changes. line_header() names the columns. Marks are those of docs/words.md.
std::string line_header(const TextStyle &style);
std::string tick_lines(const Tick &tick, const TextStyle &style, bool with_threads);
std::string summary_text(const Summary &summary, const TextStyle &style);

/// A line of --events for one record.
std::string event_text(const EventLine &event, const TextStyle &style);
std::string event_json(const EventLine &event);

std::string task_text(const TaskLine &event, const TextStyle &style);
std::string task_json(const TaskLine &event);

}  // namespace rsslag::documents
