// SPDX-License-Identifier: BSD-2-Clause
#include "core/samples.h"

#include <gtest/gtest.h>

namespace rsslag::core {
namespace {

TEST(StackSizes, GrowToThirtyTwoKibibytesInWholePages) {
    using Sizes = std::array<std::uint32_t, 3>;
    EXPECT_EQ(stack_sizes(1024), (Sizes{1024, 8192, 32768}));
    EXPECT_EQ(stack_sizes(2048), (Sizes{2048, 8192, 32768}));
    EXPECT_EQ(stack_sizes(3000), (Sizes{3000, 8192, 32768}));
    EXPECT_EQ(stack_sizes(4096), (Sizes{4096, 16384, 32768}));
    EXPECT_EQ(stack_sizes(16384), (Sizes{16384, 32768, 32768}));
    EXPECT_EQ(stack_sizes(32768), (Sizes{32768, 32768, 32768}));
}

}  // namespace
}  // namespace rsslag::core
