// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace rsslag::documents::test {

/// Whether `actual` is golden/`name`, byte by byte. Where not, the failure shows the first line that differs and names
/// a file with the actual text: `diff -u` shows the rest, and `cp` makes it the golden when it is right.
testing::AssertionResult is_golden(const std::string &actual, const std::string &name);

}  // namespace rsslag::documents::test
