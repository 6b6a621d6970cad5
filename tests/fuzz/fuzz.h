// SPDX-License-Identifier: BSD-2-Clause
// What the fuzz targets share: checks that hold in every build, and input as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/result.h"

namespace rsslag::fuzz {

/// Ends the program, which libFuzzer takes for a find.
inline void require(bool holds) {
    if (!holds) std::abort();
}

/// A parser that refuses text says why, as Corrupt and with a line.
inline void require_said(const core::Error &error) {
    require(error.kind == core::Kind::Corrupt);
    require(error.what.find(" line ") != std::string::npos);
    require(error.what.find(" line 0:") == std::string::npos);
}

inline std::string_view as_text(const std::uint8_t *data, std::size_t size) {
    return {reinterpret_cast<const char *>(data), size};
}

}  // namespace rsslag::fuzz
