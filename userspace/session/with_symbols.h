// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/result.h"
#include "exporters/sink.h"

namespace rsslag::session {

/// Passes everything to `sink`, and with a directory names the frames of stacks as unwind::Symbols does. Errors are
/// those of Symbols::open().
core::Result<std::unique_ptr<exporters::Sink>> with_symbols(exporters::Sink &sink,
                                                            const std::optional<std::string> &directory,
                                                            std::function<void(std::uint64_t)> opened);

}  // namespace rsslag::session
