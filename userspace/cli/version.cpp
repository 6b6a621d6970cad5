// SPDX-License-Identifier: BSD-2-Clause
#include "version.h"

#include <fmt/format.h>

#include "commit.h"
#include "recording/header.h"
#include "rsslag_version.h"

#ifdef RSSLAG_HAVE_PROBE
#include <bpf/libbpf.h>
#endif

namespace rsslag::cli {

std::string version_text() {
#ifdef RSSLAG_HAVE_PROBE
    const std::string tracer = fmt::format("tracer with libbpf {}.{}", libbpf_major_version(), libbpf_minor_version());
#else
    const std::string tracer = "no tracer";
#endif
    return fmt::format(
        "rsslag {} ({}), {}; schemas rsslag.snapshot/2, rsslag.proc/1, rsslag.doctor/1, "
        "rsslag.tick/2, rsslag.summary/2, rsslag.peak/1, rsslag.gap/1, rsslag.top/1, rsslag.maps/1, rsslag.mem/1, "
        "rsslag.record/2, rsslag.report/2, rsslag.report-diff/2; recordings of format {}\n",
        RSSLAG_VERSION, commit(), tracer, recording::kVersion);
}

std::string short_version() {
    return version_text().substr(0, version_text().find(','));
}

}  // namespace rsslag::cli
