// SPDX-License-Identifier: BSD-2-Clause
// Renderers of readings from /proc alone, used if BPF is not available. Pure. Every output is marked as such.
#pragma once

#include <cstddef>
#include <string>

#include "core/proc_reading.h"
#include "documents/snapshot.h"
#include "documents/top.h"

namespace rsslag::documents {

using core::ProcDocument;
using core::ProcReading;

/// rsslag.proc/1 (docs/schema/proc.schema.json): one line with a newline.
std::string proc_json(const ProcDocument &document);

/// Text for one process: the sentence, readers, and the members if they are known.
std::string proc_text(const ProcDocument &document, const ProcReading &reading, const TextStyle &style);

/// Sorts like `top`, unknown values last, and keeps the first `rows` processes (0: all).
void sort_proc(ProcDocument &document, TopSort sort, std::size_t rows);

/// One line for each process and sample; proc_line_header() names the columns.
std::string proc_line_header(const TextStyle &style);
std::string proc_line(const ProcDocument &document, const ProcReading &reading, const TextStyle &style);

/// RFC 4180: one row for each process and sample; the last column names the source of the exact RSS.
std::string proc_csv_header();
std::string proc_csv(const ProcDocument &document);

/// What is missing without BPF, and why BPF cannot be used.
std::string proc_note(const ProcDocument &document);

}  // namespace rsslag::documents
