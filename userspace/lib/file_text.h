// SPDX-License-Identifier: BSD-2-Clause
// The text of the files of `rsslag mount` (docs/rsslag.1 has what is in them). Pure.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "reading.h"

namespace rsslag::lib {

/// `rss`: all its lines, or the one of `pid`. Kind::Corrupt where it is not such a text, or was cut off.
core::Result<Readings> parse_rss_file(std::string_view text, core::PageSize page_size, pid_t pid = 0);

/// `self`. Keys that are not known are passed over.
core::Result<Reading> parse_self_file(std::string_view text, core::PageSize page_size);

}  // namespace rsslag::lib
