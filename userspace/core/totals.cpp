// SPDX-License-Identifier: BSD-2-Clause
#include "core/totals.h"

#include <fmt/format.h>

#include "core/text.h"

namespace rsslag::core {
namespace {

std::string processes(std::uint64_t number) {
    return fmt::format("{} process{}", with_thousands(static_cast<std::int64_t>(number)), number == 1 ? "" : "es");
}

}  // namespace

std::string missed_text(const Totals &totals) {
    std::string text;
    if (totals.processes_read_late > 0)
        text = fmt::format("the first reading of {} came after the exec", processes(totals.processes_read_late));
    if (totals.processes_unread > 0)
        text += fmt::format("{}{} ended before the first reading", text.empty() ? "" : ", ",
                            processes(totals.processes_unread));
    return text;
}

}  // namespace rsslag::core
