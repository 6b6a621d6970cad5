// SPDX-License-Identifier: BSD-2-Clause
// A file of any content: its events, and what a judge makes of them.
#include <algorithm>
#include <cstring>

#include "fuzz.h"
#include "rsslag/recording/reader.h"
#include "rsslag/trace/judge.h"
#include "rsslag/trace/recorded.h"
#include "rsslag/view/tick.h"

using rsslag::fuzz::require;
namespace core = rsslag::core;
namespace event = rsslag::event;
namespace recording = rsslag::recording;
namespace trace = rsslag::trace;
namespace view = rsslag::view;

namespace {

trace::Judge judge_of(const recording::Header &header) {
    constexpr int kMostCpus = 64;  // memory for each of them is nothing to find here
    trace::Facts facts = trace::facts_of(header);
    facts.machine.cpus_possible = std::min(facts.machine.cpus_possible, kMostCpus);
    trace::JudgeOptions options;
    options.for_screen = true;
    options.threads.which = core::ThreadChoice::Which::All;
    return {facts, options};
}

void tell(trace::Judge &judge, event::Event event) {
    for (const core::Tick &tick : judge.apply(std::move(event)))
        require(!view::tick_json(tick).empty());
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const recording::Input input{[data, size](std::uint64_t offset, std::span<char> out) {
                                     if (offset >= size) return std::size_t{0};
                                     const std::size_t got = std::min<std::size_t>(out.size(), size - offset);
                                     std::memcpy(out.data(), data + offset, got);
                                     return got;
                                 },
                                 size};
    auto reader = recording::Reader::open(input, "it");
    if (!reader) {
        require(!reader.error().what.empty());
        return 0;
    }
    const std::vector<recording::Place> places = reader->places();
    (void)reader->peak();
    trace::Judge judge = judge_of(reader->header());
    bool missing = false;
    while (auto next = reader->next()) {
        if (const auto *const gap = std::get_if<recording::Missing>(&*next)) {
            require(!gap->reason.empty());
            missing = true;
            tell(judge, event::Gap{gap->records.value_or(1), 1});
        } else {
            tell(judge, std::move(std::get<event::Event>(*next)));
        }
    }
    require(reader->complete() == !missing);
    tell(judge, event::Stop{judge.last_moment()});
    tell(judge, event::End{judge.last_moment(), {}});
    require(judge.summary().has_value());
    if (places.empty()) return 0;
    reader->seek(places.back());
    while (reader->next()) {
    }
    return 0;
}
