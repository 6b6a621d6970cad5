// SPDX-License-Identifier: BSD-2-Clause
#include "output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace rsslag::cli {

core::Status print(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
            continue;
        }
        if (errno == EINTR) continue;
        return core::Error{core::Kind::Io, std::string("stdout cannot be written: ") + std::strerror(errno), errno, ""};
    }
    return core::success();
}

}  // namespace rsslag::cli
