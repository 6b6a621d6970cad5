// SPDX-License-Identifier: BSD-2-Clause
// What a scraper of metrics is told, in Prometheus' text format 0.0.4 or as OpenMetrics 1.0.0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/core/losses.h"
#include "rsslag/core/result.h"
#include "rsslag/core/scheme.h"
#include "rsslag/metrics/groups.h"
#include "rsslag/metrics/traced.h"

namespace rsslag::metrics {

/// Kind::Unsupported in a static build, which has neither the text nor the endpoint.
core::Status supported();

/// One reading of all processes and what it cost; the same names as the mounted file's.
struct Exposition {
    core::Machine machine;
    std::string version, kernel;
    std::string label = "comm";  ///< what the groups' names are
    std::vector<Group> groups;
    double reading_seconds = 0;  ///< that the reading took
    /// Of an exporter that goes on; not told of a single reading.
    struct Exporter {
        std::uint64_t readings = 0, failures = 0, requests = 0;
        double cpu_seconds = 0;
        std::int64_t resident_bytes = 0;
    };
    const Exporter *exporter = nullptr;
    /// Where some are traced.
    struct Trace {
        std::vector<TracedGroup> groups;
        core::Losses losses;
    };
    std::optional<Trace> trace;
};

enum class Format : std::uint8_t { Prometheus, OpenMetrics };

/// The Content-Type of a format.
std::string_view content_type(Format format);

/// The format that an HTTP Accept header asks for: OpenMetrics only where it is named.
Format accepted(std::string_view accept);

/// Values in base units (bytes, seconds). Names of groups are printable() and escaped as the format asks.
std::string text(const Exposition &exposition, Format format);

}  // namespace rsslag::metrics
