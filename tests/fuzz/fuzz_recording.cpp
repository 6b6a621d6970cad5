// SPDX-License-Identifier: BSD-2-Clause
// A file of any content, all the way: its events, what a judge makes of them, and all that is written of that.
#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "fuzz.h"
#include "rsslag/recording/reader.h"
#include "rsslag/report/report_builder.h"
#include "rsslag/sinks/sink.h"
#include "rsslag/trace/judge.h"
#include "rsslag/trace/recorded.h"
#include "rsslag/trace/row_maker.h"
#include "rsslag/view/tick.h"

using rsslag::fuzz::require;
namespace core = rsslag::core;
namespace event = rsslag::event;
namespace recording = rsslag::recording;
namespace report = rsslag::report;
namespace sinks = rsslag::sinks;
namespace trace = rsslag::trace;
namespace view = rsslag::view;

namespace {

bool is_raw_control(unsigned char c) {
    return (c < 0x20 && c != '\n') || c == 0x7f;
}

/// What a terminal obeys: controls, those of Unicode too, and what turns the direction of text.
void require_harmless(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto at = [&](std::size_t more) {
            return i + more < text.size() ? static_cast<unsigned char>(text[i + more]) : 0U;
        };
        require(!is_raw_control(static_cast<unsigned char>(text[i])));
        require(!(at(0) == 0xc2 && at(1) >= 0x80 && at(1) <= 0x9f));
        require(
            !(at(0) == 0xe2 && at(1) == 0x80 && (at(2) == 0x8e || at(2) == 0x8f || (at(2) >= 0xaa && at(2) <= 0xae))));
        require(!(at(0) == 0xe2 && at(1) == 0x81 && at(2) >= 0xa6 && at(2) <= 0xa9));
    }
}

void require_json(std::string_view text) {
    require(
        std::none_of(text.begin(), text.end(), [](char c) { return is_raw_control(static_cast<unsigned char>(c)); }));
    require(nlohmann::json::accept(text));
}

/// Every output that needs no file.
class Outputs : public sinks::Sink {
  public:
    Outputs() {
        const auto json = [](std::string_view text) {
            for (std::size_t from = 0; from < text.size();) {
                const std::size_t to = std::min(text.find('\n', from), text.size());
                require_json(text.substr(from, to - from));
                from = to + 1;
            }
            return core::success();
        };
        const auto csv = [](std::string_view text) {
            require(std::none_of(text.begin(), text.end(),
                                 [](char c) { return c != '\r' && is_raw_control(static_cast<unsigned char>(c)); }));
            return core::success();
        };
        all_.push_back(sinks::jsonl_sink(json));
        all_.push_back(sinks::csv_sink(csv));
        all_.push_back(sinks::perfetto_sink([](std::string_view) { return core::success(); }));
    }

    core::Status begin(const sinks::Facts &facts) override {
        for (const auto &each : all_)
            require(each->begin(facts).ok());
        return report_.begin(facts);
    }
    core::Status row(const sinks::Row &row) override {
        for (const auto &each : all_)
            require(each->row(row).ok());
        return report_.row(row);
    }
    core::Status end(const sinks::Ending &ending) override {
        for (const auto &each : all_)
            require(each->end(ending).ok());
        if (const core::Status ended = report_.end(ending); !ended) return ended;
        const report::Report report = report_.take();
        require_json(report::report_json(report));
        require_harmless(report::report_text(report, {}));
        const std::string svg = report::report_svg(report);
        require_harmless(svg);
        require(svg.find("<script") == std::string::npos);
        return core::success();
    }

  private:
    std::vector<std::unique_ptr<sinks::Sink>> all_;
    report::ReportBuilder report_;
};

trace::Facts facts_of(const recording::Header &header) {
    constexpr int kMostCpus = 64;  // memory for each of them is nothing to find here
    trace::Facts facts = trace::facts_of(header);
    facts.machine.cpus_possible = std::min(facts.machine.cpus_possible, kMostCpus);
    return facts;
}

trace::JudgeOptions judge_options(trace::TraceObserver &observer) {
    trace::JudgeOptions options;
    options.for_screen = true;
    options.threads.which = core::ThreadChoice::Which::All;
    options.observer = &observer;
    return options;
}

class Trace {
  public:
    explicit Trace(const recording::Header &header)
        : maker_(outputs_), judge_(facts_of(header), judge_options(maker_)) {
        maker_.begin(header.start_ns);
        require(outputs_.begin(trace::sink_facts(header)).ok());
    }

    void apply(event::Event event) {
        for (core::Tick &tick : judge_.apply(std::move(event))) {
            require_json(view::tick_json(tick));
            require_harmless(view::tick_lines(tick, {}, true));
            maker_.on_tick(std::move(tick));
        }
        for (const core::GroupView &group : judge_.groups())
            maker_.group(group);
    }

    void end(bool complete) {
        apply(event::Stop{judge_.last_moment()});
        apply(event::End{judge_.last_moment(), {}});
        require(judge_.summary().has_value());
        require_json(view::summary_json(*judge_.summary()));
        require_harmless(view::summary_text(*judge_.summary(), {}));
        require(maker_.finish().ok());
        require(outputs_.end({*judge_.summary(), complete, {}, judge_.summary()->duration_ns}).ok());
    }

  private:
    Outputs outputs_;
    trace::RowMaker maker_;
    trace::Judge judge_;
};

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
    const std::vector<recording::Position> positions = reader->positions();
    (void)reader->peak();
    Trace trace(reader->header());
    bool missing = false;
    while (auto next = reader->next()) {
        if (const auto *const gap = std::get_if<recording::Missing>(&*next)) {
            require(!gap->reason.empty());
            missing = true;
            trace.apply(event::Gap{gap->records.value_or(1), 1});
        } else {
            trace.apply(std::move(std::get<event::Event>(*next)));
        }
    }
    require(reader->complete() == !missing);
    trace.end(!missing);
    if (positions.empty()) return 0;
    reader->seek(positions.back());
    while (reader->next()) {
    }
    return 0;
}
