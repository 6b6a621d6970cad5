// SPDX-License-Identifier: BSD-2-Clause
#include "tracer/sampled_pages.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

namespace rsslag::tracer {
namespace {

constexpr std::uint64_t kSpace = 0xffff'8880'0000'1000, kFirst = 0x7f00'0000'1000;

using Pages = std::map<std::uint64_t, std::uint64_t>;

core::Sample page_at(std::uint64_t address) {
    core::Sample sample;
    sample.mm = kSpace;
    sample.address = address;
    sample.estimated = 1;
    sample.member = 1;
    return sample;
}

TEST(SampledPages, EachOnceUntilForgotten) {
    SampledPages pages;
    pages.note(page_at(kFirst + 8), 3);
    pages.note(page_at(kFirst), 4);
    pages.note(page_at(kFirst + 4096), 5);
    pages.note(page_at(0), 6);
    ASSERT_NE(pages.of(kSpace), nullptr);
    EXPECT_EQ(pages.of(kSpace)->from, 3U);
    EXPECT_EQ(pages.of(kSpace)->pages, (Pages{{kFirst, 0}, {kFirst + 4096, 0}}));
    pages.forget(kSpace, std::array{kFirst, kFirst + 8192});
    EXPECT_EQ(pages.of(kSpace)->pages, (Pages{{kFirst + 4096, 0}}));
    EXPECT_EQ(pages.of(kSpace + 1), nullptr);
}

TEST(SampledPages, OfAHugePageAreItsStart) {
    constexpr std::uint64_t kHuge = 0x7f00'0020'0000;
    SampledPages pages;
    for (const std::uint64_t within : {0x5000, 0x1ff'fff}) {
        core::Sample sample = page_at(kHuge + within);
        sample.estimated = 512;
        pages.note(sample, 1);
    }
    core::Sample file = page_at(kHuge + 0x7000);
    file.member = 0;
    file.estimated = 16;  // those around it were mapped, too
    pages.note(file, 2);
    EXPECT_EQ(pages.of(kSpace)->pages, (Pages{{kHuge, 0}, {kHuge + 0x7000, 0}}));
}

/// mremap to a larger range, while a page after the old one and one that came after the move stay.
TEST(SampledPages, AreLookedUpWhereTheyHaveMoved) {
    constexpr std::uint64_t kNow = 0x7f80'0000'0000;
    SampledPages pages;
    for (const auto &[page, t_ns] :
         Pages{{kFirst, 10}, {kFirst + 4096, 20}, {kFirst + 8192, 30}, {kFirst + 12288, 10}}) {
        core::Sample sample = page_at(page);
        sample.pid = 7;
        sample.t_ns = t_ns;
        pages.note(sample, 1);
    }
    core::MappingChange change;
    change.kind = core::MappingChange::Kind::Moved;
    change.t_ns = 25;
    change.pid = 8;
    change.range = {kNow, kNow + 8 * 4096, 0, ""};
    change.old_start = kFirst;
    change.old_end = kFirst + 3 * 4096;
    pages.change(change);
    EXPECT_EQ(pages.of(kSpace)->pages.size(), 4U) << "another process";
    change.pid = 7;
    pages.change(change);
    EXPECT_EQ(pages.of(kSpace)->pages,
              (Pages{{kFirst + 8192, 30}, {kFirst + 12288, 10}, {kNow, 10}, {kNow + 4096, 20}}));
    change.old_start = change.old_end = kNow;  // what stays there, too
    change.range = {kFirst, kFirst + 4096, 0, ""};
    pages.change(change);
    EXPECT_EQ(pages.of(kSpace)->pages.size(), 4U);
}

TEST(SampledPages, OfAnMmThatIsNotKnownAreKeptOnce) {
    SampledPages pages;
    pages.note(page_at(kFirst), 0);
    pages.keep({});
    EXPECT_NE(pages.of(kSpace), nullptr);
    pages.keep({kSpace});
    EXPECT_NE(pages.of(kSpace), nullptr);
    pages.keep({});
    EXPECT_EQ(pages.of(kSpace), nullptr);
}

TEST(SampledPages, AreForgottenIfTheyAreTooMany) {
    SampledPages pages(2);
    pages.note(page_at(kFirst), 0);
    pages.note(page_at(kFirst + 4096), 1);
    pages.forget(kSpace, std::array{kFirst});
    pages.note(page_at(kFirst + 8192), 2);
    EXPECT_FALSE(pages.overflowed());
    pages.note(page_at(kFirst + 12288), 3);
    EXPECT_TRUE(pages.overflowed());
    EXPECT_EQ(pages.of(kSpace), nullptr);
}

}  // namespace
}  // namespace rsslag::tracer
