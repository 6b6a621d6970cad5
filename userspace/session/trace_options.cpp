// SPDX-License-Identifier: BSD-2-Clause
#include "session/trace_options.h"

#include <fmt/format.h>

#include <charconv>

#include "core/text.h"

namespace rsslag::session {

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

core::Status parse_stacks(TraceOptions &options) {
    using core::Error;
    using core::Kind;
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

}  // namespace rsslag::session
