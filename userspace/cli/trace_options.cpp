// SPDX-License-Identifier: BSD-2-Clause
#include "trace_options.h"

#include <cstdint>

#include "commands.h"
#include "core/duration.h"
#include "core/size.h"
#include "terminal/screen.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using core::Status;

Status parse_limit(session::TraceOptions &options) {
    if (options.typed.max_size.empty()) return core::success();
    if (options.recording.empty() && options.format != session::Format::Screen &&
        options.format != session::Format::Progress)
        return Error{Kind::BadInput, "--max-size requires a recording", 0, "add --record FILE"};
    const auto most = core::parse_size("--max-size", options.typed.max_size, std::uint64_t{256} << 10,
                                       std::uint64_t{1} << 50, "use at least 256K");
    if (!most) return most.error();
    options.max_bytes = *most;
    return core::success();
}

Status parse_buffers(session::TraceOptions &options) {
    const std::string &ring = options.typed.ring, &memory = options.typed.memory;
    if (!ring.empty() && !memory.empty())
        return Error{Kind::BadInput, "--ring and --memory cannot be combined", 0, "remove one of them"};
    if (!ring.empty()) {
        const auto size = core::parse_size("--ring", ring, 4096, std::uint64_t{1} << 30, "use 4K to 1024M");
        if (!size) return size.error();
        options.ring_bytes = *size;
    }
    if (!memory.empty()) {
        const auto size =
            core::parse_size("--memory", memory, std::uint64_t{1} << 20, std::uint64_t{1} << 36, "use 1M to 64G");
        if (!size) return size.error();
        options.memory_bytes = *size;
    }
    const auto stack = core::parse_size("--stack-bytes", options.typed.stack_bytes, 1024, 32768, "use 1K to 32K");
    if (!stack) return stack.error();
    options.samples.stack_bytes = static_cast<std::uint32_t>(*stack - *stack % (*stack > 4096 ? 4096 : 8));
    return core::success();
}

Status parse_rest(session::TraceOptions &options) {
    if (Status sized = parse_buffers(options); !sized) return sized;
    if (Status limited = parse_limit(options); !limited) return limited;
    const auto sync = core::parse_interval(options.typed.sync);
    if (!sync) return sync.error();
    options.sync = *sync;
    if (Status sampled = session::parse_stacks(options); !sampled) return sampled;
    if (options.events && options.mode == "counts") {
        return Error{Kind::BadInput, "--events requires records, and --mode counts has none", 0,
                     "remove --events or --mode counts"};
    }
    return core::success();
}

}  // namespace

Status parse(session::TraceOptions &options) {
    if (options.typed.history != "0") {
        const auto history = core::parse_duration(options.typed.history);
        if (!history) return history.error();
        options.history = *history;
    }
    const auto interval = core::parse_interval(options.typed.interval);
    if (!interval) return interval.error();
    options.interval = *interval;
    if (!options.typed.duration.empty()) {
        const auto duration = core::parse_duration(options.typed.duration);
        if (!duration) return duration.error();
        options.duration = *duration;
    }
    const std::string &format = options.typed.format;
    const bool screen = format.empty() && !options.events && terminal::Screen::possible();
    if (options.format == session::Format::Progress || options.format == session::Format::Silent) {
        options.threads = {core::ThreadChoice::Which::All, 0};
        return parse_rest(options);
    }
    options.format = format == "csv"     ? session::Format::Csv
                     : format == "jsonl" ? session::Format::Jsonl
                     : screen            ? session::Format::Screen
                                         : session::Format::Lines;
    // Figures of JSON add up only with all threads; text for people is one line per tick.
    const std::string fallback = options.format == session::Format::Jsonl ? "all" : "none";
    if (!options.typed.stacks.empty() && options.recording.empty() && !screen)
        return Error{Kind::BadInput, "--stacks requires the screen or --record", 0, "add --record FILE"};
    const auto threads = parse_threads(options.typed.threads.empty() ? fallback : options.typed.threads);
    if (!threads) return threads.error();
    options.threads = *threads;
    return parse_rest(options);
}

void add_buffer_options(CLI::App &command, session::TraceOptions &options) {
    command.add_option("--ring", options.typed.ring, "Size of each ring buffer: 512K, 8M; by default 2M or less");
    command.add_option("--memory", options.typed.memory, "Limit of all ring and update buffers; by default 64M");
}

void add_stack_options(CLI::App &command, session::TraceOptions &options) {
    CLI::Option *const stacks = command.add_flag(
        "--stacks{64}", options.typed.stacks, "Sample the stacks that add or release pages: one sample in PAGES pages");
    command
        .add_option("--stack-bytes", options.typed.stack_bytes, "With --stacks: bytes copied of each stack, 1K to 32K")
        ->capture_default_str()
        ->needs(stacks);
    command.add_option("--stack-seed", options.samples.seed, "With --stacks: another number chooses other pages")
        ->capture_default_str()
        ->needs(stacks);
    command
        .add_option("--unwind", options.typed.unwind, "With --stacks: auto, fp (frame pointers) or dwarf (.eh_frame)")
        ->capture_default_str()
        ->needs(stacks);
    command.add_flag("!--no-symbols", options.samples.symbols, "With --stacks: leave the names to report --symbols")
        ->needs(stacks);
}

void add_trace_options(CLI::App &command, session::TraceOptions &options) {
    add_target_options(command, options.targets);
    command.add_flag("--follow", options.follow, "Also trace child processes");
    command.add_option("--interval", options.typed.interval, "Time between ticks: 500ms, 2s, 1m; at least 10ms")
        ->capture_default_str();
    command.add_option("--duration", options.typed.duration, "End after this time; CMD gets SIGTERM");
    command
        .add_option("--mode", options.mode,
                    "events: a record for each update; counts: sums in the kernel, at less cost")
        ->capture_default_str();
    command.add_flag("--no-walk", options.no_walk, "Never read smaps");
    command.add_flag("--no-names", options.no_names, "Do not collect names of mappings for a recording or the screen");
    command.add_flag("--no-wait", options.no_wait,
                     "Exit with 3 if no process matches yet; end when the last one that matched ends");
    add_buffer_options(command, options);
    command
        .add_option("--sync", options.typed.sync,
                    "Write a recording to the disk (fdatasync) at this interval, against a power cut")
        ->capture_default_str();
    command.add_option(
        "--max-size", options.typed.max_size,
        "Limit a recording to its newest part: 64M, 1G. FILE is the newest segment, FILE.0000, FILE.0001 … "
        "are older segments");
    command.add_flag("--force", options.force, "Let a recording replace an existing file");
    command.add_flag("--as-root", options.as_root, "With -- CMD under sudo: run CMD as root");
}

}  // namespace rsslag::cli
