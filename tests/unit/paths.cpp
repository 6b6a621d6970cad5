// SPDX-License-Identifier: BSD-2-Clause
#include "paths.h"

namespace rsslag {

std::string source_path(const std::string &path) {
    return std::string(RSSLAG_SOURCE_DIR "/") + path;
}

}  // namespace rsslag
