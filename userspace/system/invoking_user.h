// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "core/fd.h"
#include "core/result.h"

namespace rsslag::system {

/// Becomes invoking_user(), if there is one, and drops all capabilities. Commands that only read and write files call
/// it before they open the first one. Errors as invoking_user(); Kind::Denied if the user cannot be changed,
/// Kind::Internal if capabilities cannot be dropped.
core::Status drop_to_invoking_user();

/// Opens a file to write to, or creates it with mode 0666 less the umask, with the rights of invoking_user(), if there
/// is one, and as its file. What it contains stays until it is truncated. Errors as invoking_user(); Kind::Io if the
/// file cannot be opened.
core::Result<core::Fd> create_as_invoking_user(const std::string &path);

}  // namespace rsslag::system
