// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "rsslag/core/result.h"

namespace rsslag::workload {

/// The Error of a system or library call that failed with `err`: the name of the call and the message of the errno.
core::Error failed(std::string_view call, int err, std::string remedy = {});

/// Kind::Unsupported: this machine lacks what the workload needs.
core::Error unsupported(std::string what, std::string remedy);

}  // namespace rsslag::workload
