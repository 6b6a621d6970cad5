// SPDX-License-Identifier: BSD-2-Clause
#include "recorded.h"

#include <gtest/gtest.h>

#include "analysis/recorded.h"

namespace rsslag::analysis::test {
Trace trace_of(recording::Input input) {
    auto reader = recording::Reader::open(std::move(input), "it");
    EXPECT_TRUE(reader) << reader.error().what;
    Trace trace{facts_of(reader->header()), {}};
    while (auto next = reader->next())
        trace.events.push_back(std::move(std::get<event::Event>(*next)));
    EXPECT_TRUE(reader->complete());
    return trace;
}

}  // namespace rsslag::analysis::test
