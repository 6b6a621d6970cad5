// SPDX-License-Identifier: BSD-2-Clause
#include "exit_status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string>

#include "output.h"
#include "rsslag/core/text.h"
#include "style.h"

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

void complain(const std::string &line) {
    const std::string text = fmt::format("rsslag: {}\n", core::harmless(line, locale_is_utf8()));
    // Where stderr cannot be written there is nobody to tell.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

int fail(const core::Error &error) {
    if (is_unread(error)) return kDone;
    complain(error.remedy.empty() ? error.what : error.what + "; " + error.remedy);
    return exit_status(error.kind);
}

}  // namespace rsslag::cli
