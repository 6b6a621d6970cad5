// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "core/result.h"
#include "documents/snapshot.h"

namespace rsslag::terminal {

/// Whether the user's locale uses UTF-8.
bool locale_is_utf8();

/// The style of text on stdout, by the locale, --unit and --color (auto: colour on a terminal unless NO_COLOR is set).
/// Kind::BadInput if an option has an invalid value.
core::Result<documents::TextStyle> text_style(const std::string &unit, const std::string &color);

}  // namespace rsslag::terminal
