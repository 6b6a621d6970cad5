// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include <spdlog/formatter.h>

namespace rsslag::terminal {

/// spdlog's format, except that core::harmless() is applied to the message, whose text may come from a recording or
/// another process.
std::unique_ptr<spdlog::formatter> log_format();

}  // namespace rsslag::terminal
