// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/missing.h"

#include <fmt/format.h>

namespace rsslag::analysis {

std::string missing_text(const std::string &reason, std::uint64_t from_ns, std::optional<std::uint64_t> to_ns,
                         std::optional<std::uint64_t> records) {
    const auto seconds = [](std::uint64_t t_ns) { return static_cast<double>(t_ns) / 1e9; };
    std::string text = fmt::format("the recording is incomplete: {}; missing from {:.3f} s ", reason, seconds(from_ns));
    text += to_ns ? fmt::format("to {:.3f} s", seconds(*to_ns)) : std::string("to its end");
    text += records ? fmt::format(", {} records", *records) : std::string(", an unknown number of records");
    return text;
}

}  // namespace rsslag::analysis
