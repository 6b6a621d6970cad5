// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include <spdlog/formatter.h>

namespace rsslag::terminal {

/// As spdlog formats, but control, escape and bidi bytes of a message reach no terminal and no file raw: its words may
/// come from a recording or another process.
std::unique_ptr<spdlog::formatter> log_format();

}  // namespace rsslag::terminal
