// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace rsslag::recording {

/// What the tracer was asked to do; the numbers are those of the file.
enum class Ask : std::uint8_t {
    Attach = 1,
    AttachAtExec = 2,
    AttachMatching = 3,
    Collect = 4,
    Tick = 5,
    WalkNow = 6,
    Stop = 7,
    Summary = 8,
};

struct Call {
    Ask ask = Ask::Collect;
    int pid = 0;  ///< Attach, AttachAtExec, WalkNow; else 0
};

}  // namespace rsslag::recording
