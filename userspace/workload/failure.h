// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "rsslag/core/result.h"

namespace rsslag::workload {

/// The Error of a system call (or library call) that set `err`: names the call and says what the errno means.
core::Error failed(std::string_view call, int err, std::string remedy = {});

/// This machine lacks what the workload needs.
core::Error unsupported(std::string what, std::string remedy);

}  // namespace rsslag::workload
