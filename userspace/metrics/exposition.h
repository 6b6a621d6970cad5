// SPDX-License-Identifier: BSD-2-Clause
// The metrics as text for a scraper, in Prometheus' text format 0.0.4 or as OpenMetrics 1.0.0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/losses.h"
#include "core/result.h"
#include "core/scheme.h"
#include "core/totals.h"
#include "metrics/groups.h"
#include "metrics/traced.h"

namespace rsslag::metrics {

/// Kind::Unsupported in a static build, which contains neither text() nor the endpoint.
core::Status supported();

/// One reading of all processes and its cost. Metrics have the same names as in the mounted file rss.prom.
struct Exposition {
    core::Machine machine;
    std::string version, kernel;
    std::string label = "comm";  ///< label of the names of groups
    std::vector<Group> groups;
    /// The groups were read by /proc alone: no series has the part "flushed" or "cached", and the scheme is not known.
    bool by_proc = false;
    double reading_seconds = 0;  ///< duration of the reading
    /// Present if processes are traced.
    struct Trace {
        std::vector<TracedGroup> groups;
        core::Losses losses;
        core::Totals missed;  ///< see analysis::Analyzer::missed()
    };
    std::optional<Trace> trace;
};

enum class Format : std::uint8_t { Prometheus, OpenMetrics };

/// The metrics of an exporter that keeps running, which change with each request.
class Exporter {
  public:
    Exporter();
    ~Exporter();
    Exporter(const Exporter &) = delete;
    Exporter &operator=(const Exporter &) = delete;

    /// All processes were read; rsslag's own exact RSS is `resident_bytes`.
    void count_reading(std::int64_t resident_bytes);
    void count_failure();
    /// `cpu_seconds`: CPU time of this process since its start.
    void count_request(double cpu_seconds);

  private:
    struct Metrics;
    friend std::string text(const Exporter &exporter, Format format);
    std::unique_ptr<Metrics> metrics_;
};

/// The Content-Type of a format.
std::string_view content_type(Format format);

/// The format that an HTTP Accept header requests (RFC 9110 12.5.1): OpenMetrics only if the header names it, in a
/// version that text() can make, and prefers it or has no preference.
Format accepted(std::string_view accept);

/// Values in base units (bytes, seconds). Names of groups are printable(), a comm in ASCII, and escaped as the format
/// requires. OpenMetrics requires the text of an exporter after it.
std::string text(const Exposition &exposition, Format format);
/// The metrics of the exporter itself, and the end of the text.
std::string text(const Exporter &exporter, Format format);

}  // namespace rsslag::metrics
