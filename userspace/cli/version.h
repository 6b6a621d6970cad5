// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace rsslag::cli {

/// Commit, libbpf, tracer or not, schema and format versions.
std::string version_text();

}  // namespace rsslag::cli
