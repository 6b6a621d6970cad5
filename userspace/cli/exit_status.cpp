// SPDX-License-Identifier: BSD-2-Clause
#include "exit_status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "core/text.h"
#include "terminal/output.h"
#include "terminal/style.h"

namespace rsslag::cli {

int exit_status(core::Kind kind) {
    switch (kind) {
        case core::Kind::BadInput:
        case core::Kind::Corrupt: return kBadInput;
        case core::Kind::Denied:
        case core::Kind::Unsupported:
        case core::Kind::Gone: return kNotAllowed;
        case core::Kind::Io:
        case core::Kind::Internal: break;
    }
    return kDoesNotHold;
}

int fail(const core::Error &error) {
    if (terminal::reader_closed(error)) return kDone;
    terminal::print_error(error.remedy.empty() ? error.what : error.what + "; " + error.remedy);
    return exit_status(error.kind);
}

int print(const std::string &text) {
    const core::Status printed = terminal::print(text);
    return printed ? kDone : fail(printed.error());
}

std::string unread_text(const std::vector<core::FailedTarget> &unread) {
    if (unread.size() == 1) return unread.front().reason;
    constexpr std::size_t kMost = 20;
    std::string pids;
    for (std::size_t i = 0; i < std::min(unread.size(), kMost); ++i)
        pids += fmt::format(" {}", unread[i].pid);
    return fmt::format("{} processes were not read:{}{}; the reason for the first: {}", unread.size(), pids,
                       unread.size() > kMost ? " ..." : "", unread.front().reason);
}

}  // namespace rsslag::cli
