// SPDX-License-Identifier: BSD-2-Clause
#include "proc_runs.h"

#include <chrono>
#include <optional>
#include <utility>

#include "exit_status.h"
#include "session/sampler.h"
#include "session/session.h"
#include "system/command.h"
#include "system/proc_reader.h"
#include "terminal/output.h"

namespace rsslag::cli {

using session::Sampler;
using std::chrono::milliseconds;

namespace {

/// Whether the samples must end: for the walk of a target whose mmap_lock another task holds for long.
std::function<bool()> must_end(system::StopSignals &stop, std::optional<milliseconds> duration) {
    using std::chrono::steady_clock;
    const auto end = duration ? steady_clock::now() + *duration : steady_clock::time_point::max();
    return [&stop, end] { return stop.stop_requested() || steady_clock::now() >= end; };
}

}  // namespace

bool can_sample(const session::TraceOptions &options, const core::Error &why) {
    const bool of_readings = options.format == session::Format::Screen || options.format == session::Format::Lines ||
                             options.format == session::Format::Csv || options.format == session::Format::Jsonl;
    return system::can_fall_back_to_proc(why) && options.recording.empty() && !options.events && options.sampled &&
           of_readings;
}

int sample_targets(const std::vector<system::Target> &targets, const session::TraceOptions &options,
                   const documents::TextStyle &style, system::StopSignals &stop, const core::Error &why, bool dropped) {
    auto reader = system::ProcReader::open(why, must_end(stop, options.duration), dropped);
    if (!reader) return fail(reader.error());
    Sampler sampler(std::move(*reader), options, style);
    for (const system::Target &target : targets) {
        const core::Status added = sampler.add(target.pid);
        if (added) continue;
        if (target.named) return fail(added.error());
        sampler.not_added(target.pid, added.error());
    }
    if (sampler.over()) return fail({core::Kind::Gone, "cannot read any of these processes", 0, ""});
    core::Status ran = sampler.head();
    if (targets.empty()) terminal::print_error(session::kWaitsForFirst);
    if (ran) ran = sampler.run([&](milliseconds left) { return !stop.wait(left); });
    return ran ? kDone : fail(ran.error());
}

int sample_command(const std::vector<std::string> &argv, const session::TraceOptions &options,
                   const documents::TextStyle &style, const core::Error &why) {
    auto command = system::Command::prepare(argv, options.as_root);
    if (!command) return fail(command.error()), kCommandFailed;
    system::StopSignals stop(2);  // the first INT is for the command
    auto reader = system::ProcReader::open(why, must_end(stop, options.duration));
    if (!reader) return fail(reader.error()), kCommandFailed;
    Sampler sampler(std::move(*reader), options, style);
    const core::Status started = command->release();
    if (!started) return fail(started.error()), system::shell_status(started.error());
    // A command that has already ended cannot be added.
    core::Status ran = sampler.head();
    std::optional<int> status;
    const bool alive = ran && sampler.add(command->pid());
    if (ran && !alive) terminal::print_error("nothing was sampled: the command ended before the first sample");
    if (alive) {
        ran = sampler.run([&](milliseconds left) {
            if (!stop.stop_requested()) status = command->wait(left, stop);
            return !status && !stop.stop_requested();
        });
    }
    // The reader closed the pipe: the samples end, and CMD goes on.
    if (!ran && terminal::reader_closed(ran.error())) return command->wait(std::nullopt, stop).value_or(kDone);
    if (!ran) return fail(ran.error()), kCommandFailed;
    if (status) return *status;
    if (stop.stop_requested()) return kDone;
    if (options.duration) {
        if (const core::Status ended = command->terminate(); !ended) terminal::print_error(ended.error().what);
        return kDone;
    }
    return command->wait(std::nullopt, stop).value_or(kDone);
}

int sample_all(const ProcTopOptions &options, const documents::TextStyle &style, system::StopSignals &stop,
               const core::Error &why) {
    const auto reader = system::ProcReader::open(why, must_end(stop, std::nullopt));
    if (!reader) return fail(reader.error());
    terminal::print_error(documents::proc_note(reader->document()));
    bool reported = false;
    do {
        core::ProcDocument document = reader->document();
        if (const core::Status read = reader->read_all(document); !read) return fail(read.error());
        if (!document.failed.empty() && !std::exchange(reported, true))
            terminal::print_error(unread_text(document.failed));
        documents::sort_proc(document, options.sort, options.rows);
        std::string text = options.json ? documents::proc_json(document) : documents::proc_line_header(style);
        for (const core::ProcReading &reading : document.processes)
            if (!options.json) text += documents::proc_line(document, reading, style);
        if (const core::Status printed = options.write(text); !printed) return fail(printed.error());
    } while (!options.once && !stop.wait(options.interval));
    return kDone;
}

}  // namespace rsslag::cli
