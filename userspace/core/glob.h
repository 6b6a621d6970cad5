// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fnmatch.h>

#include <string>

namespace rsslag::core {

/// Whether `name` matches the shell pattern `glob` (fnmatch(3) without flags). Pure.
inline bool matches(const std::string &glob, const std::string &name) {
    return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

}  // namespace rsslag::core
