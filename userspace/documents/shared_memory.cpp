// SPDX-License-Identifier: BSD-2-Clause
#include "core/shared_memory.h"

#include "top_rows.h"

namespace rsslag::documents {

std::vector<std::vector<int>> sharing(const std::vector<TopProcess> &processes) {
    std::map<std::uint64_t, std::vector<int>> by_mm;
    for (const TopProcess &process : processes) {
        if (process.total.tgid > 0) by_mm[process.total.mm].push_back(process.total.tgid);
    }
    return core::sharing(std::move(by_mm));
}

}  // namespace rsslag::documents
