// SPDX-License-Identifier: BSD-2-Clause
#include "recorded.h"

#include <gtest/gtest.h>

namespace rsslag::trace::test {
namespace {

Facts facts_of(const recording::Header &header) {
    Facts facts;
    facts.machine = header.machine;
    facts.calibration = header.calibration;
    facts.kernel = header.kernel;
    facts.id_key = header.id_key;
    facts.start = {header.start_ns, header.start_unix_ns};
    facts.before = header.before;
    return facts;
}

}  // namespace

Trace trace_of(recording::Input input) {
    auto reader = recording::Reader::open(std::move(input), "it");
    EXPECT_TRUE(reader) << reader.error().what;
    Trace trace{facts_of(reader->header()), {}};
    while (auto next = reader->next())
        trace.events.push_back(std::move(std::get<Event>(*next)));
    EXPECT_TRUE(reader->complete());
    return trace;
}

}  // namespace rsslag::trace::test
