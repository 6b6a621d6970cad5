// SPDX-License-Identifier: BSD-2-Clause
// The same events make the same ticks, whatever is queried from the analyzer in between, and from any source.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <random>

#include "../paths.h"
#include "analysis/analyzer.h"
#include "core/wire.h"
#include "documents/tick.h"
#include "events.h"
#include "recorded.h"
#include "recording/assembler.h"

namespace rsslag::analysis {
namespace {

using test::Trace;
using test::trace_of;

recording::Header header_of(const Facts &facts) {
    recording::Header header;
    header.machine = facts.machine;
    header.calibration = facts.calibration;
    header.kernel = facts.kernel;
    header.id_key = facts.id_key;
    header.start_ns = facts.start.t_ns;
    header.start_unix_ns = facts.start.unix_ns;
    header.before = facts.before;
    return header;
}

/// A shipped recording, or a hand-made one.
Trace trace_named(const std::string &name) {
    if (name == "by hand") return {test::facts(), test::small_trace()};
    return trace_of(*recording::open_file(source_path("docs/recordings/") + name));
}

void ask_everything(const Analyzer &analyzer) {
    std::size_t answers = analyzer.groups().size() + analyzer.unknown().size() + analyzer.awaited().size() +
                          analyzer.adopted().size() + analyzer.tids().size() + analyzer.waiting().size();
    answers += analyzer.any() || analyzer.leaving() || analyzer.summary() ? 1 : 0;
    answers += analyzer.losses().sent + analyzer.records() + analyzer.last_moment().t_ns + analyzer.facts().start.t_ns;
    EXPECT_GT(answers, 0U);
}

/// Every tick and the summary, as documents.
std::vector<std::string> reported(
    const Trace &trace, const std::function<bool()> &asks = [] { return false; }) {
    AnalyzerOptions options;
    options.threads.which = core::ThreadChoice::Which::All;
    test::TickAnalyzer analyzer(trace.facts, options);
    std::vector<std::string> reported;
    for (const event::Event &event : trace.events) {
        if (asks()) ask_everything(analyzer);
        for (const core::Tick &tick : analyzer.apply(event))
            reported.push_back(documents::tick_json(tick));
    }
    EXPECT_TRUE(analyzer.summary());
    if (analyzer.summary()) reported.push_back(documents::summary_json(*analyzer.summary()));
    return reported;
}

class SameTicks : public testing::TestWithParam<std::string> {};

TEST_P(SameTicks, WhateverIsAskedBetweenAnyTwoEvents) {
    const Trace trace = trace_named(GetParam());
    const std::vector<std::string> quiet = reported(trace);
    EXPECT_GT(quiet.size(), 2U);
    EXPECT_EQ(reported(trace, [] { return true; }), quiet);
    std::mt19937 dice(1);
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(reported(trace, [&dice] { return dice() % 3 == 0; }), quiet);
}

TEST_P(SameTicks, WhetherRecordsComeOneByOneOrTogether) {
    const Trace trace = trace_named(GetParam());
    Trace single{trace.facts, {}};
    for (const event::Event &event : trace.events) {
        const auto *const records = std::get_if<event::Records>(&event);
        if (records == nullptr) {
            single.events.push_back(event);
            continue;
        }
        std::span<const std::byte> rest = records->bytes;
        while (const std::size_t size = wire::visit_first(rest, [](const auto &) {})) {
            single.events.emplace_back(
                event::Records{records->ring, {rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size)}});
            rest = rest.subspan(size);
        }
    }
    EXPECT_GE(single.events.size(), trace.events.size());
    EXPECT_EQ(reported(single), reported(trace));
}

TEST_P(SameTicks, OutOfARecording) {
    const Trace trace = trace_named(GetParam());
    std::string file;
    recording::Assembler assembler([&file](const recording::Bytes &bytes) { file += bytes; });
    assembler.begin(header_of(trace.facts));
    for (const event::Event &event : trace.events)
        assembler.add(event);
    assembler.end();
    const auto read = [&file](std::uint64_t offset, std::span<char> out) {
        return static_cast<std::int64_t>(
            std::string_view(file).substr(std::min<std::size_t>(offset, file.size())).copy(out.data(), out.size()));
    };
    EXPECT_EQ(reported(trace_of({read, file.size()})), reported(trace));
}

INSTANTIATE_TEST_SUITE_P(, SameTicks, testing::Values("by hand", "classic-6.1.rsslag", "quiet-6.1.rsslag"),
                         [](const auto &each) {
                             return each.param == "by hand" ? std::string("ByHand") : each.param.substr(0, 5);
                         });

}  // namespace
}  // namespace rsslag::analysis
