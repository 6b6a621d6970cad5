// SPDX-License-Identifier: BSD-2-Clause
// Of processes whose memory map is not the reader's to see: what their status says all the same.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "rsslag/core/scheme.h"
#include "rsslag/procfs/files.h"

namespace rsslag::view {

/// null where there is none.
nlohmann::ordered_json status_json(const std::optional<procfs::StatusFile> &status);
/// What /proc/PID/status shows here; null where nobody had to know.
nlohmann::ordered_json status_shows_json(const std::optional<core::Truth> &truth);
/// "exact on this kernel".
std::string_view status_shows(const std::optional<core::Truth> &truth);
core::Kilobytes rss_of(const procfs::StatusFile &status);

}  // namespace rsslag::view
