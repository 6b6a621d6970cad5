// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace rsslag::workload {

/// The Error of a system or library call that failed with the errno `err`, which determines its Kind: Denied,
/// Unsupported, Io or Internal.
core::Error failed(std::string_view call, int err, std::string remedy = {});

/// The Kind::Unsupported error for a machine that lacks a requirement of the workload.
core::Error unsupported(std::string what, std::string remedy);

}  // namespace rsslag::workload
