// SPDX-License-Identifier: BSD-2-Clause
// A recording as the list of its events.
#pragma once

#include <vector>

#include "analysis/analyzer.h"
#include "recording/reader.h"

namespace rsslag::analysis::test {

struct Trace {
    Facts facts;
    std::vector<event::Event> events;
};

/// The events of a complete recording; fails the test otherwise.
Trace trace_of(recording::Input input);

}  // namespace rsslag::analysis::test
