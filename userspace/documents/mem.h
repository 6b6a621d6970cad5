// SPDX-License-Identifier: BSD-2-Clause
// Renderers of rsslag mem: the memory of many processes, with no page counted twice. Pure.
#pragma once

#include <string>

#include "documents/snapshot.h"
#include "memory/mem_document.h"

namespace rsslag::documents {

using memory::MemBy;
using memory::MemDocument;
using memory::MemRow;

/// rsslag.mem/1 (docs/schema/mem.schema.json): one line with a newline. `each`: with every process.
std::string mem_json(const MemDocument &document, bool each);
/// Text with at most `rows` rows; the rest is one sum.
std::string mem_text(const MemDocument &document, bool each, std::size_t rows, const TextStyle &style);

}  // namespace rsslag::documents
