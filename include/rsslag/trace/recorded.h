// SPDX-License-Identifier: BSD-2-Clause
// Facts about a trace, from the header of its recording.
#pragma once

#include "rsslag/recording/header.h"
#include "rsslag/sinks/row.h"
#include "rsslag/trace/analyzer.h"

namespace rsslag::trace {

inline Facts facts_of(const recording::Header &header) {
    Facts facts;
    facts.machine = header.machine;
    facts.calibration = header.calibration;
    facts.kernel = header.kernel;
    facts.id_key = header.id_key;
    facts.start = {header.start_ns, header.start_unix_ns};
    facts.before = header.before;
    return facts;
}

/// The facts for sinks.
sinks::Facts sink_facts(const recording::Header &header);

}  // namespace rsslag::trace
