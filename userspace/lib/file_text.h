// SPDX-License-Identifier: BSD-2-Clause
// Parsers of the files of `rsslag mount` (docs/man/rsslag-mount.1 describes them). Pure.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "reading.h"

namespace rsslag::lib {

/// Parses `rss`: all its lines, or only that of `pid`, if not 0. Kind::Corrupt if it is malformed or cut off.
core::Result<Readings> parse_rss_file(std::string_view text, core::PageSize page_size, pid_t pid = 0);

/// Parses `self`. Unknown keys are ignored.
core::Result<Reading> parse_self_file(std::string_view text, core::PageSize page_size);

}  // namespace rsslag::lib
