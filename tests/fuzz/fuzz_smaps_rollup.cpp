// SPDX-License-Identifier: BSD-2-Clause
#include "smaps_checks.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    auto rollup = rsslag::procfs::parse_smaps_rollup(rsslag::fuzz::as_text(data, size));
    if (!rollup) {
        rsslag::fuzz::require_said(rollup.error());
        return 0;
    }
    rsslag::fuzz::require_sums(rollup->sums);
    rsslag::fuzz::require(rollup->sums.rss && rollup->sums.locked);
    return 0;
}
