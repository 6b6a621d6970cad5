// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "exporters/sink.h"

namespace rsslag::session {

/// Passes everything to `sink`, and prints the missing parts of the recording to stderr. For a format that cannot
/// contain them.
std::unique_ptr<exporters::Sink> missing_to_stderr(std::unique_ptr<exporters::Sink> sink);

}  // namespace rsslag::session
