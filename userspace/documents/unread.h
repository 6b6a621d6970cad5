// SPDX-License-Identifier: BSD-2-Clause
// Processes whose mappings cannot be read: the values of their /proc/PID/status.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/scheme.h"
#include "procfs/files.h"

namespace rsslag::documents {

/// The values of a status file; null if there is none.
nlohmann::ordered_json status_json(const std::optional<procfs::StatusFile> &status);
/// How /proc/PID/status counts on this kernel ("flushed", "exact", "unknown"); null if no status was needed.
nlohmann::ordered_json status_shows_json(const std::optional<core::Truth> &truth);
/// "exact on this kernel" and the like, for a sentence.
std::string_view status_shows(const std::optional<core::Truth> &truth);
/// RssAnon + RssFile + RssShmem; VmRSS on kernels without these lines.
core::Kilobytes rss_of(const procfs::StatusFile &status);

}  // namespace rsslag::documents
