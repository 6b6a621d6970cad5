// SPDX-License-Identifier: BSD-2-Clause
#include "trace_options.h"

#include "commands.h"

namespace rsslag::cli {
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
    command.add_option(
        "--keep", options.typed.keep,
        "Keep this last part of the trace in memory, so that r on the screen or --save-when can save it");
    CLI::Option *const save_when =
        command.add_option("--save-when", options.typed.save_when,
                           "Save what is kept, and what follows, when this becomes true of a process: 'rss>2GiB'");
    command.add_option("--save-limit", options.save_limit, "With --save-when: how many recordings to save")
        ->capture_default_str()
        ->needs(save_when);
    command.add_flag("--force", options.force, "Let a recording replace an existing file");
    command.add_flag("--as-root", options.as_root, "With -- CMD under sudo: run CMD as root");
}

}  // namespace rsslag::cli
