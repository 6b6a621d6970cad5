// SPDX-License-Identifier: BSD-2-Clause
// Shared by the fuzz targets: checks that are active in every build, and the input as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/result.h"

namespace rsslag::fuzz {

/// Aborts the program unless the condition holds. libFuzzer reports this as a failure.
inline void require(bool holds) {
    if (!holds) std::abort();
}

/// An error of a parser must be Corrupt and name the line.
inline void require_said(const core::Error &error) {
    require(error.kind == core::Kind::Corrupt);
    require(error.what.find(" line ") != std::string::npos);
    require(error.what.find(" line 0:") == std::string::npos);
}

inline std::string_view as_text(const std::uint8_t *data, std::size_t size) {
    return {reinterpret_cast<const char *>(data), size};
}

}  // namespace rsslag::fuzz
