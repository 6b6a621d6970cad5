// SPDX-License-Identifier: BSD-2-Clause
// The ways to show what /proc alone tells, where BPF cannot be used. Pure: state in, text out. No line of it is without
// the mark that says so.
#pragma once

#include <cstddef>
#include <string>

#include "rsslag/core/proc_reading.h"
#include "rsslag/view/screen.h"
#include "rsslag/view/snapshot.h"

namespace rsslag::view {

using core::ProcDocument;
using core::ProcReading;

/// rsslag.proc/1 as docs/schema/proc.schema.json has it, one line, with a newline.
std::string proc_json(const ProcDocument &document);

/// For people, one process: the sentence, what could not be told, readers, members where they are known.
std::string proc_text(const ProcDocument &document, const ProcReading &reading, const TextStyle &style);

/// As `top` has it; `rows` of them stay, 0: all. What is not known is last.
void sort_proc(ProcDocument &document, TopSort sort, std::size_t rows);

/// A line a process and sample; proc_line_header says what the columns are.
std::string proc_line_header(const TextStyle &style);
std::string proc_line(const ProcDocument &document, const ProcReading &reading, const TextStyle &style);

/// A row a process and sample, RFC 4180; the last column says by what it was sampled.
std::string proc_csv_header();
std::string proc_csv(const ProcDocument &document);

/// What BPF would add, and what it takes.
std::string proc_note(const ProcDocument &document);

}  // namespace rsslag::view
