// SPDX-License-Identifier: BSD-2-Clause
// The two ways to show a snapshot. Pure: state in, text out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rsslag/core/process_reading.h"
#include "rsslag/core/text.h"

namespace rsslag::view {

using core::FailedTarget;
using core::ProcessReading;
using core::SnapshotDocument;

/// Choices of the user and the terminal for text.
struct TextStyle {
    bool utf8 = true;
    bool color = false;
    core::PagesText pages = core::as_kb;
    std::string unit = "kB";   ///< heading of the columns that `column` fills
    std::size_t cachers = 20;  ///< rows of threads or CPUs before the rest is summed up
};

/// rsslag.snapshot/2 as docs/schema/snapshot.schema.json has it, one line, with a newline.
std::string snapshot_json(const SnapshotDocument &document);

/// For people: the sentence, the verdict, readers, members, who caches.
std::string snapshot_text(const SnapshotDocument &document, const ProcessReading &process, const TextStyle &style);

/// "4711 and 4712 share one memory: it is counted once", a line; empty where nobody else has it.
std::string shared_line(const std::vector<int> &pids);

using core::utc_time;

}  // namespace rsslag::view
