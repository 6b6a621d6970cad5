// SPDX-License-Identifier: BSD-2-Clause
#include "terminal/style.h"

#include <gtest/gtest.h>

namespace rsslag::terminal {
namespace {

std::string page_in(const std::string &unit) {
    const auto style = text_style(unit, "never");
    EXPECT_TRUE(style.ok()) << unit;
    if (!style.ok()) return "";
    EXPECT_EQ(style->unit, unit);
    return style->pages({262'144}, core::PageSize{4096});
}

TEST(TextStyle, KnowsEachUnit) {
    EXPECT_EQ(page_in("kB"), "1,048,576 kB");
    EXPECT_EQ(page_in("MiB"), "1,024.0 MiB");
    EXPECT_EQ(page_in("GiB"), "1.0 GiB");
    EXPECT_EQ(page_in("pages"), "262,144 pages");
}

TEST(TextStyle, RefusesOtherUnits) {
    for (const char *unit : {"", "KB", "kb", "mib", "bytes", "page"}) {
        const auto style = text_style(unit, "never");
        ASSERT_FALSE(style.ok()) << unit;
        EXPECT_EQ(style.error().kind, core::Kind::BadInput);
        EXPECT_NE(style.error().remedy.find("kB, MiB, GiB or pages"), std::string::npos);
    }
}

}  // namespace
}  // namespace rsslag::terminal
