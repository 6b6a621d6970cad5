// SPDX-License-Identifier: BSD-2-Clause
// Facts about a trace, from the header of its recording.
#pragma once

#include "analysis/analyzer.h"
#include "exporters/row.h"
#include "recording/header.h"

namespace rsslag::analysis {

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
exporters::Facts sink_facts(const recording::Header &header);

}  // namespace rsslag::analysis
