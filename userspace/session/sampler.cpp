// SPDX-License-Identifier: BSD-2-Clause
#include "session/sampler.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "session/session.h"
#include "system/targets.h"
#include "terminal/output.h"

namespace rsslag::session {
namespace {

/// The options that were given, but require records: "--follow, --mode".
std::string without_effect(const TraceOptions &options) {
    std::string names;
    const auto add = [&names](bool given, const char *name) {
        if (given) names += (names.empty() ? "" : ", ") + std::string(name);
    };
    add(options.follow, "--follow");
    add(!options.typed.threads.empty(), "--threads");
    add(options.mode != "events", "--mode");
    return names;
}

}  // namespace

core::Status Sampler::add(pid_t pid) {
    auto process = procfs::Process::open(pid);
    if (!process) return process.error();
    if (const auto why = system::why_unreadable(*process)) return *why;
    pids_.push_back(pid);
    return core::success();
}

/// Whether to wait for later matches of a pattern.
bool Sampler::waits() const {
    return options_.targets.has_pattern() && !options_.no_wait;
}

void Sampler::look_for_more() {
    if (!options_.targets.has_pattern()) return;
    const auto found = system::matching(options_.targets, {pids_.begin(), pids_.end()});
    if (!found) return unreadable_.note_search(found.error());
    for (const pid_t pid : *found) {
        if (const core::Status added = add(pid); !added) not_added(pid, added.error());
    }
}

core::Status Sampler::head() const {
    terminal::print_error(documents::proc_note(reader_.document()));
    if (const std::string names = without_effect(options_); !names.empty())
        terminal::print_error("these options have no effect without BPF: " + names);
    return terminal::print(header());
}

std::string Sampler::header() const {
    if (options_.format == Format::Jsonl) return "";
    return options_.format == Format::Csv ? documents::proc_csv_header() : documents::proc_line_header(style_);
}

std::string Sampler::text(const core::ProcDocument &document) const {
    if (options_.format == Format::Jsonl) return documents::proc_json(document);
    return options_.format == Format::Csv ? documents::proc_csv(document) : lines(document);
}

std::string Sampler::lines(const core::ProcDocument &document) const {
    std::string text;
    for (const core::ProcReading &reading : document.processes)
        text += documents::proc_line(document, reading, style_);
    for (const core::FailedTarget &failed : document.failed)
        text += failed.reason + "\n";
    return text;
}

core::Status Sampler::sample() {
    core::ProcDocument document = reader_.document();
    const auto ended = [&](pid_t pid) {
        const auto process = processes_.of(pid, pid);
        auto reading = process ? reader_.take(**process, !options_.no_walk) : process.error();
        if (reading) {
            document.processes.push_back(std::move(*reading));
            return false;
        }
        document.failed.push_back({pid, reading.error().what});
        if (reading.error().kind == core::Kind::Io)
            return false;  // such as no free descriptor: it may be readable later
        processes_.forget(pid);
        return true;
    };
    look_for_more();
    std::erase_if(pids_, ended);
    samples_ += document.processes.size();
    if (document.processes.empty() && document.failed.empty()) return core::success();
    core::Status printed = terminal::print(text(document));
    if (pids_.empty() && waits()) terminal::print_error(kWaitsForNext);
    return printed;
}

core::Status Sampler::run(const std::function<bool(std::chrono::milliseconds)> &wait) {
    core::Status ran = sample_until_end(wait);
    if (samples_ == 0) terminal::print_error("no process was sampled: each ended before its first sample");
    if (unreadable_.size() > 0)
        spdlog::warn("{} process{} could not be read for a part of the time", unreadable_.size(),
                     unreadable_.size() == 1 ? "" : "es");
    return ran;
}

core::Status Sampler::sample_until_end(const std::function<bool(std::chrono::milliseconds)> &wait) {
    using Clock = std::chrono::steady_clock;
    using std::chrono::milliseconds;
    const auto end = options_.duration ? Clock::now() + *options_.duration : Clock::time_point::max();
    for (auto next = Clock::now();;) {
        if (core::Status sampled = sample(); !sampled) return sampled;
        if (over()) return core::success();
        next = std::max(next + options_.interval, Clock::now());
        const auto left = std::chrono::ceil<milliseconds>(std::min(next, end) - Clock::now());
        if (!wait(std::max(left, milliseconds{0})) || Clock::now() >= end) return core::success();
    }
}

}  // namespace rsslag::session
