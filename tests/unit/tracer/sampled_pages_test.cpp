// SPDX-License-Identifier: BSD-2-Clause
#include "tracer/sampled_pages.h"

#include <gtest/gtest.h>

#include <array>

namespace rsslag::tracer {
namespace {

constexpr std::uint64_t kSpace = 0xffff'8880'0000'1000, kFirst = 0x7f00'0000'1000;

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
    EXPECT_EQ(pages.of(kSpace)->pages, (std::set<std::uint64_t>{kFirst, kFirst + 4096}));
    pages.forget(kSpace, std::array{kFirst, kFirst + 8192});
    EXPECT_EQ(pages.of(kSpace)->pages, (std::set<std::uint64_t>{kFirst + 4096}));
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
    EXPECT_EQ(pages.of(kSpace)->pages, (std::set<std::uint64_t>{kHuge, kHuge + 0x7000}));
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
