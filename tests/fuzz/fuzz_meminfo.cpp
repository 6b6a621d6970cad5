// SPDX-License-Identifier: BSD-2-Clause
#include "fuzz.h"
#include "procfs/system.h"

using rsslag::fuzz::require;

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const auto info = rsslag::procfs::parse_meminfo(rsslag::fuzz::as_text(data, size));
    if (!info) {
        rsslag::fuzz::require_said(info.error());
        return 0;
    }
    require(info->total.has_value() && info->total->n >= 0);
    require(!info->available || info->available->n >= 0);
    return 0;
}
