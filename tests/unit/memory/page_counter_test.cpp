// SPDX-License-Identifier: BSD-2-Clause
#include "memory/page_counter.h"

#include <gtest/gtest.h>

namespace rsslag::memory {
namespace {

using core::Kilobytes;
using core::Pages;

constexpr std::int64_t kPageKb = 4;

struct Swapped {
    Kilobytes before, after;  ///< Swap of smaps
    Pages counted;            ///< entries with the swap bit
    bool of_file = false;
    bool types_hidden = false;
};

PagesReport compared(const Swapped &swapped) {
    procfs::Mapping mapping;
    mapping.start = 0x10000;
    mapping.end = 0x20000;
    mapping.fields.swap = swapped.after;
    PagesRow row;
    row.start = mapping.start;
    row.end = mapping.end;
    row.swap = swapped.before;
    row.of_file = swapped.of_file;
    row.counts.swapped = swapped.counted;
    PagesReport report;
    report.rows = {row};
    if (swapped.types_hidden) report.why_no_frames = "reading frame numbers requires CAP_SYS_ADMIN";
    compare_with_smaps(report, {mapping}, {kPageKb * 1024});
    EXPECT_EQ(report.omitted.empty(), report.rows.front().agrees);
    return report;
}

TEST(SwappedPages, AreNoMarkersWhereTheTypesAreHidden) {
    const PagesReport none = compared({{0}, {0}, Pages{1024}, false, true});
    EXPECT_EQ(none.total().swapped, Pages{0});
    EXPECT_TRUE(none.rows.front().agrees);
    EXPECT_EQ(compared({{0}, {0}, Pages{1024}, true, true}).total().swapped, Pages{0});
    EXPECT_EQ(compared({{8}, {8}, Pages{1024}, false, true}).total().swapped, Pages{2});
}

TEST(SwappedPages, MustBeThoseOfSmapsBeforeOrAfter) {
    for (const bool types_hidden : {false, true}) {
        EXPECT_TRUE(compared({{8}, {16}, Pages{2}, false, types_hidden}).rows.front().agrees);
        EXPECT_TRUE(compared({{8}, {16}, Pages{4}, false, types_hidden}).rows.front().agrees);
        EXPECT_FALSE(compared({{8}, {16}, Pages{1}, false, types_hidden}).rows.front().agrees);
        EXPECT_TRUE(compared({{8}, {8}, Pages{0}, true, types_hidden}).rows.front().agrees)
            << "pagemap does not show shmem in swap";
    }
    EXPECT_FALSE(compared({{8}, {8}, Pages{3}}).rows.front().agrees);
    EXPECT_FALSE(compared({{8}, {8}, Pages{3}, true}).rows.front().agrees);
}

}  // namespace
}  // namespace rsslag::memory
