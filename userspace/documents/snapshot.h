// SPDX-License-Identifier: BSD-2-Clause
// Renderers of a snapshot: JSON and text. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/process_reading.h"
#include "core/shared_memory.h"
#include "core/text.h"

namespace rsslag::documents {

using core::FailedTarget;
using core::ProcessReading;
using core::SnapshotDocument;

/// The style of text, by the options and the terminal.
struct TextStyle {
    bool utf8 = true;
    bool color = false;
    core::PagesText pages = core::as_kb;
    std::string unit = "kB";   ///< heading of the columns in that unit
    std::size_t cachers = 20;  ///< rows of threads or CPUs; the rest is one sum
    bool mouse = true;         ///< the screen takes clicks and the wheel from the terminal
};

/// rsslag.snapshot/2 (docs/schema/snapshot.schema.json): one line with a newline.
std::string snapshot_json(const SnapshotDocument &document);

/// Text: the sentence, the verdict, readers, members, then the caching threads or CPUs.
std::string snapshot_text(const SnapshotDocument &document, const ProcessReading &process, const TextStyle &style);

using core::shared_line;
using core::utc_time;

}  // namespace rsslag::documents
