// SPDX-License-Identifier: BSD-2-Clause
#include "memory/pages.h"

namespace rsslag::memory {

procfs::PageCounts PagesReport::total() const {
    procfs::PageCounts total;
    for (const PagesRow &row : rows)
        total += row.counts;
    return total;
}

}  // namespace rsslag::memory
