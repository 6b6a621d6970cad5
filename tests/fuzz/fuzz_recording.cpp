// SPDX-License-Identifier: BSD-2-Clause
// Reads a file of any content, analyzes its events, and writes every output of the result, at the cost that rsslag
// promises.
#include <algorithm>
#include <clocale>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/analyzer.h"
#include "analysis/recorded.h"
#include "analysis/row_maker.h"
#include "budget.h"
#include "documents/tick.h"
#include "drawn_screen.h"
#include "exporters/sink.h"
#include "fuzz.h"
#include "profile/formats.h"
#include "recording/reader.h"
#include "recording_mutator.h"
#include "report/flame_svg.h"
#include "report/peak.h"
#include "report/report_builder.h"
#include "report/stacks.h"
#include "text_checks.h"

using rsslag::fuzz::Budget;
using rsslag::fuzz::require;
using rsslag::fuzz::require_csv;
using rsslag::fuzz::require_harmless;
using rsslag::fuzz::require_json;
using rsslag::fuzz::require_json_lines;
using rsslag::fuzz::require_xml;
namespace analysis = rsslag::analysis;
namespace core = rsslag::core;
namespace documents = rsslag::documents;
namespace event = rsslag::event;
namespace exporters = rsslag::exporters;
namespace recording = rsslag::recording;
namespace profile = rsslag::profile;
namespace report = rsslag::report;
namespace screen = rsslag::screen;

namespace {

/// A condition on each figure.
std::vector<core::Assertion> make_claims() {
    std::vector<core::Assertion> claims;
    const std::string names = report::claim_names();
    for (std::size_t from = 0; from < names.size();) {
        const std::size_t to = std::min(names.find(", ", from), names.size());
        for (const char *const limit : {"<1", "<1kB", "<1ms"}) {
            auto parsed = report::parse_claims(names.substr(from, to - from) + limit);
            if (parsed) claims.push_back(parsed->front());
        }
        from = to + 2;
    }
    require(!claims.empty());
    return claims;
}

const std::vector<core::Assertion> &all_claims() {
    static const std::vector<core::Assertion> claims = make_claims();
    return claims;
}

void require_peak(const report::Report &report, const core::Summary &summary) {
    report::PeakReport peak{{report.facts.command_line}, 0, 0, std::nullopt, std::nullopt, summary, {}};
    if (!summary.processes.empty()) peak.pid = summary.processes.front().pid;
    peak.claims = report::evaluate(all_claims(), report::report_of(summary, true));
    for (const report::ClaimResult &result : peak.claims)
        require_harmless(result.text);
    require_json(report::peak_json(peak));
    require_harmless(report::peak_text(peak, {}, true));
}

/// What `put` writes.
std::string text_of(const std::function<core::Status(const exporters::Write &)> &put) {
    std::string all;
    require(put([&all](std::string_view text) { return all += text, core::success(); }).ok());
    return all;
}

void require_stacks(const report::Report &report) {
    for (const auto by : {profile::By::Function, profile::By::Module, profile::By::Thread})
        require_harmless(report::stacks_text(report.stacks, by, SIZE_MAX, report.facts.machine.page_size, {}));
    const std::string flames = report::flame_svg(report);
    require_xml(flames.substr(0, flames.rfind("<script>")) + "</svg>");  // the script is the same for all
    const auto written = [&report](auto put) {
        return text_of([&](const exporters::Write &write) { return put(report.stacks, report.facts, write); });
    };
    require_harmless(written(profile::folded));
    require_json(written(profile::speedscope));
    (void)written(profile::pprof);
}

void require_report(const report::Report &report, const core::Summary &summary) {
    require_stacks(report);
    require_json(text_of([&report](const exporters::Write &write) { return report::report_json(report, write); }));
    require_harmless(report::report_text(report, {}));
    require_xml(report::report_svg(report));
    const report::Report other = report::report_of(summary, true);
    for (const auto &[before, after] : {std::pair(&other, &report), {&report, &other}}) {
        require_json(report::diff_json(*before, *after));
        require_harmless(report::diff_text(*before, *after, {}));
    }
    for (const report::ClaimResult &result : report::evaluate(all_claims(), report))
        require_harmless(result.text);
    require_peak(report, summary);
}

/// Every output that needs no file. A database takes longer than all others together.
class Outputs : public exporters::Sink {
  public:
    explicit Outputs(bool database) {
        const auto json = [](std::string_view text) { return require_json_lines(text), core::success(); };
        const auto csv = [](std::string_view text) { return require_csv(text), core::success(); };
        all_.push_back(exporters::jsonl_sink(json));
        all_.push_back(exporters::csv_sink(csv));
        if (database) all_.push_back(exporters::sqlite_sink(":memory:"));
        all_.push_back(exporters::perfetto_sink([](std::string_view) { return core::success(); }));
    }

    core::Status begin(const exporters::Facts &facts) override {
        for (const auto &each : all_)
            require(each->begin(facts).ok());
        return report_.begin(facts);
    }
    core::Status row(const exporters::Row &row) override {
        for (const auto &each : all_)
            require(each->row(row).ok());
        return report_.row(row);
    }
    void samples(const core::event::Samples &samples) override { report_.samples(samples); }
    void stacks(const core::event::Stacks &stacks) override { report_.stacks(stacks); }
    void absent_pages(const core::event::AbsentPages &absent) override { report_.absent_pages(absent); }
    core::Status end(const exporters::Ending &ending) override {
        for (const auto &each : all_)
            require(each->end(ending).ok());
        if (const core::Status ended = report_.end(ending); !ended) return ended;
        made_ = report_.take();
        return core::success();
    }
    /// To be called after end().
    const report::Report &report() const { return made_; }

  private:
    std::vector<std::unique_ptr<exporters::Sink>> all_;
    report::ReportBuilder report_;
    report::Report made_;
};

std::size_t columns_of(std::string_view header) {
    return static_cast<std::size_t>(std::count(header.begin(), header.end(), ',')) + 1;
}

/// The output of `replay --events` and of the screen.
class Lines : public analysis::RowMaker {
  public:
    Lines(exporters::Sink &sink, rsslag::fuzz::DrawnScreen &screen) : RowMaker(sink), screen_(screen) {}

    bool needs_updates() const override { return true; }
    void on_update(const core::EventLine &line) override {
        require_line(documents::event_json, documents::event_text, line);
    }
    void on_task(const core::TaskLine &line) override {
        require_line(documents::task_json, documents::task_text, line);
        RowMaker::on_task(line);
    }
    void on_tick(core::Tick tick) override {
        require_json(documents::tick_json(tick));
        require_harmless(documents::tick_lines(tick, {}, true));
        require_csv(documents::tick_csv(tick, tick.seq), columns_);
        screen_.take(tick);
        RowMaker::on_tick(std::move(tick));
    }

  private:
    template <class Line>
    void require_line(std::string (*json)(const Line &),
                      std::string (*text)(const Line &, const documents::TextStyle &), const Line &line) {
        require_json(json(line));
        require_harmless(text(line, {}));
    }

    rsslag::fuzz::DrawnScreen &screen_;
    std::size_t columns_ = columns_of(documents::csv_header());
};

analysis::AnalyzerOptions analyzer_options(analysis::TraceObserver &observer, const Budget &budget) {
    analysis::AnalyzerOptions options;
    options.stop = [&budget](std::uint64_t /*work*/) { return budget.reading_is_over(); };
    options.for_screen = true;
    options.threads.which = core::ThreadChoice::Which::All;
    options.observer = &observer;
    return options;
}

class Trace {
    static constexpr std::size_t kDatabases = 8;

  public:
    Trace(const recording::Header &header, std::size_t seed, const Budget &budget)
        : outputs_(seed % kDatabases == 0),
          screen_(header, analysis::facts_of(header).machine, seed),
          maker_(outputs_, screen_),
          analyzer_(analysis::facts_of(header), analyzer_options(maker_, budget)) {
        maker_.begin(header.start_ns);
        require(outputs_.begin(analysis::sink_facts(header)).ok());
    }

    void apply(event::Event event) { analyzer_.apply(std::move(event)); }

    void end(bool complete) {
        apply(event::Stop{analyzer_.last_moment()});
        apply(event::End{analyzer_.last_moment(), {}});
        require(analyzer_.summary().has_value());
        require_json(documents::summary_json(*analyzer_.summary()));
        require_harmless(documents::summary_text(*analyzer_.summary(), {}));
        require(maker_.finish().ok());
        screen_.end();
        require(outputs_.end({*analyzer_.summary(), complete, {}, analyzer_.summary()->duration_ns, {}}).ok());
        require_report(outputs_.report(), *analyzer_.summary());
    }

  private:
    Outputs outputs_;
    rsslag::fuzz::DrawnScreen screen_;
    Lines maker_;
    analysis::Analyzer analyzer_;
};

void read_all(const recording::Input &input, const Budget &budget) {
    auto reader = recording::Reader::open(input, "it");
    if (!reader) return require(!reader.error().what.empty());
    const std::vector<recording::Position> positions = reader->positions();
    (void)reader->peak();
    Trace trace(reader->header(), input.size, budget);
    bool missing = false;
    while (auto next = budget.reading_is_over() ? std::nullopt : reader->next()) {
        if (const auto *const gap = std::get_if<recording::Missing>(&*next)) {
            require(!gap->reason.empty());
            missing = true;
            trace.apply(event::Gap{gap->records.value_or(1), 1});
        } else {
            trace.apply(std::move(std::get<event::Event>(*next)));
        }
    }
    if (!budget.reading_is_over()) require(reader->complete() == !missing);
    trace.end(reader->complete());
    if (positions.empty()) return;
    reader->seek(positions.back());
    while (reader->next()) {
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerInitialize(int * /*argc*/, char *** /*argv*/) {
    require(std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr);  // as for the screen
    return 0;
}

// NOLINTNEXTLINE(readability-identifier-naming): likewise
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size, std::size_t most, unsigned seed) {
    return rsslag::fuzz::mutate_recording(data, size, most, seed);
}

// NOLINTNEXTLINE(readability-identifier-naming): likewise
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const Budget budget(size);
    const recording::Input input{[data, size](std::uint64_t offset, std::span<char> out) {
                                     if (offset >= size) return std::size_t{0};
                                     const std::size_t got = std::min<std::size_t>(out.size(), size - offset);
                                     std::memcpy(out.data(), data + offset, got);
                                     return got;
                                 },
                                 size, [&budget](std::uint64_t /*unpacked*/) { return budget.reading_is_over(); }};
    try {
        read_all(input, budget);
    } catch (const std::bad_alloc &) {  // rsslag refuses the file
    }
    require(budget.is_kept());
    return 0;
}
