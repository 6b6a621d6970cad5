// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace rsslag::unwind {

/// The demangled form of a C++ or Rust symbol, at most 1,000 bytes of it; the name itself if it is not mangled.
std::string demangled(const std::string &name);

}  // namespace rsslag::unwind
