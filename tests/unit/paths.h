// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace rsslag {

/// A file of the source tree, by its path from the top. Only paths.cpp is compiled with the tree's own place, so that a
/// compiler cache serves all other files in every clone.
std::string source_path(const std::string &path);

}  // namespace rsslag
