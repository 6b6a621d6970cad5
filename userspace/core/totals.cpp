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
        text +=
            fmt::format("{}there is no reading of {}", text.empty() ? "" : ", ", processes(totals.processes_unread));
    if (!totals.not_traced_reason) return text;
    const std::uint64_t not_traced = totals.processes_not_traced;
    text += text.empty() ? "" : ", ";
    text += not_traced == 0 ? "processes that match may be missing"
                            : fmt::format("{} {} traced for only a part of the time", processes(not_traced),
                                          not_traced == 1 ? "was" : "were");
    text += ": " + *totals.not_traced_reason;
    return text;
}

}  // namespace rsslag::core
