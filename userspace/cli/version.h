// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace rsslag::cli {

/// Version, commit, libbpf or "no tracer", versions of the schemas and of the recording format.
std::string version_text();

}  // namespace rsslag::cli
