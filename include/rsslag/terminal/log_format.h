// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include <spdlog/formatter.h>

namespace rsslag::terminal {

/// spdlog's format with control, escape and bidi bytes of the message made harmless: its text may come from a recording
/// or another process.
std::unique_ptr<spdlog::formatter> log_format();

}  // namespace rsslag::terminal
