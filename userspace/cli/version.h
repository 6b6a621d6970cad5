// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace rsslag::cli {

/// Version, commit, libbpf or "no tracer", versions of the schemas and of the recording format.
std::string version_text();
/// The first of these, as "rsslag 0.9.0 (abcdef0)".
std::string short_version();

}  // namespace rsslag::cli
