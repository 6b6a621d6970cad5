// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "rsslag/core/result.h"
#include "rsslag/view/snapshot.h"

namespace rsslag::terminal {

/// Whether the user's locale is a UTF-8 one.
bool locale_is_utf8();

/// How text looks on this stdout: the locale's character set, --unit, --color (auto: on a terminal, unless NO_COLOR).
core::Result<view::TextStyle> text_style(const std::string &unit, const std::string &color);

}  // namespace rsslag::terminal
