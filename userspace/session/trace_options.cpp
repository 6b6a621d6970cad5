// SPDX-License-Identifier: BSD-2-Clause
#include "session/trace_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <utility>

#include "core/duration.h"
#include "core/size.h"
#include "core/text.h"
#include "session/save_when.h"
#include "terminal/screen.h"

namespace rsslag::session {

using core::Error;
using core::Kind;
using core::Status;

core::Result<core::ThreadChoice> parse_threads(const std::string &argument) {
    using Which = core::ThreadChoice::Which;
    if (argument == "all") return core::ThreadChoice{Which::All, 0};
    if (argument == "changed") return core::ThreadChoice{Which::Changed, 0};
    if (argument == "none") return core::ThreadChoice{Which::None, 0};
    std::size_t top = 0;
    const char *const end = argument.data() + argument.size();
    if (argument.starts_with("top:")) {
        const auto [rest, err] = std::from_chars(argument.data() + 4, end, top);
        if (err == std::errc{} && rest == end && top > 0) return core::ThreadChoice{Which::Top, top};
    }
    return core::Error{core::Kind::BadInput, fmt::format("--threads {} is not valid", core::printable(argument)), 0,
                       "use all, changed, top:N or none"};
}

namespace {

/// Sets samples.period and samples.unwind.
Status parse_stacks(TraceOptions &options) {
    using core::UnwindBy;
    const std::string &unwind = options.typed.unwind, &typed = options.typed.stacks;
    options.samples.unwind = unwind == "fp"      ? UnwindBy::FramePointers
                             : unwind == "dwarf" ? UnwindBy::EhFrame
                                                 : UnwindBy::Auto;
    if (typed.empty()) return core::success();
    const char *const end = typed.data() + typed.size();
    const auto [rest, err] = std::from_chars(typed.data(), end, options.samples.period);
    if (err != std::errc{} || rest != end || options.samples.period == 0)
        return Error{Kind::BadInput, fmt::format("--stacks={} is not valid", core::printable(typed)), 0,
                     "use a number of pages: --stacks=64"};
    if (options.mode == "counts")
        return Error{Kind::BadInput, "--stacks requires records, and --mode counts has none", 0,
                     "remove --stacks or --mode counts"};
    if (options.no_names)
        return Error{Kind::BadInput, "--stacks requires the names of mappings", 0, "remove --no-names"};
    return core::success();
}

Status parse_limit(TraceOptions &options) {
    if (options.typed.max_size.empty()) return core::success();
    if (options.recording.empty() && options.format != Format::Screen && options.format != Format::Progress)
        return Error{Kind::BadInput, "--max-size requires a recording", 0, "add --record FILE"};
    const auto most = core::parse_size("--max-size", options.typed.max_size, std::uint64_t{256} << 10,
                                       std::uint64_t{1} << 50, "use at least 256K");
    if (!most) return most.error();
    options.max_bytes = *most;
    return core::success();
}

Status parse_buffers(TraceOptions &options) {
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

/// What is kept by default, if it can be saved.
constexpr std::chrono::minutes kKept{1};

Status parse_keep(TraceOptions &options) {
    const std::string &typed = options.typed.keep;
    if (!options.typed.save_when.empty()) {
        auto conditions = parse_save_when(options.typed.save_when);
        if (!conditions) return conditions.error();
        options.save_when = *std::move(conditions);
        if (options.format == Format::Progress && !options.typed.max_size.empty())
            return Error{Kind::BadInput, "--save-when and --max-size cannot be combined", 0,
                         "remove --max-size: a saved recording ends by itself"};
    }
    const bool saved = options.format == Format::Screen || !options.save_when.empty();
    if (saved) options.keep = kKept;
    if (typed.empty()) return core::success();
    if (!saved)
        return Error{Kind::BadInput, "--keep requires the screen or --save-when", 0, "add --save-when 'rss>2GiB'"};
    options.keep = {};
    if (typed == "0" && options.save_when.empty()) return core::success();
    const auto keep = core::parse_interval(typed);
    if (!keep) return keep.error();
    options.keep = *keep;
    return core::success();
}

Status parse_rest(TraceOptions &options) {
    if (Status sized = parse_buffers(options); !sized) return sized;
    if (Status limited = parse_limit(options); !limited) return limited;
    if (Status kept = parse_keep(options); !kept) return kept;
    const auto sync = core::parse_interval(options.typed.sync);
    if (!sync) return sync.error();
    options.sync = *sync;
    if (Status sampled = parse_stacks(options); !sampled) return sampled;
    if (options.events && options.mode == "counts") {
        return Error{Kind::BadInput, "--events requires records, and --mode counts has none", 0,
                     "remove --events or --mode counts"};
    }
    return core::success();
}

}  // namespace

Status parse(TraceOptions &options) {
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
    if (options.format == Format::Progress || options.format == Format::Silent) {
        options.threads = {core::ThreadChoice::Which::All, 0};
        return parse_rest(options);
    }
    options.format = format == "csv"     ? Format::Csv
                     : format == "jsonl" ? Format::Jsonl
                     : screen            ? Format::Screen
                                         : Format::Lines;
    // Figures of JSON add up only with all threads; text for people is one line per tick.
    const std::string fallback = options.format == Format::Jsonl ? "all" : "none";
    if (!options.typed.stacks.empty() && options.recording.empty() && !screen)
        return Error{Kind::BadInput, "--stacks requires the screen or --record", 0, "add --record FILE"};
    const auto threads = parse_threads(options.typed.threads.empty() ? fallback : options.typed.threads);
    if (!threads) return threads.error();
    options.threads = *threads;
    return parse_rest(options);
}

}  // namespace rsslag::session
