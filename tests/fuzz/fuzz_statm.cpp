// SPDX-License-Identifier: BSD-2-Clause
#include <string>

#include "fuzz.h"
#include "procfs/files.h"

using rsslag::fuzz::require;

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    auto statm = rsslag::procfs::parse_statm(rsslag::fuzz::as_text(data, size));
    if (!statm) {
        rsslag::fuzz::require_said(statm.error());
        return 0;
    }
    std::string printed;
    for (rsslag::core::Pages pages :
         {statm->size, statm->resident, statm->shared, statm->text, statm->lib, statm->data, statm->dirty}) {
        require(pages.n >= 0);
        printed += std::to_string(pages.n) + ' ';
    }
    printed.back() = '\n';
    auto again = rsslag::procfs::parse_statm(printed);
    require(again.ok() && again->size == statm->size && again->resident == statm->resident &&
            again->shared == statm->shared && again->data == statm->data && again->dirty == statm->dirty);
    return 0;
}
