// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace rsslag::documents::test {

/// Whether `actual` equals golden/`name`, byte by byte. If not, the failure shows the first line that differs, and the
/// name of a file with the actual text. `diff -u` shows the rest; if the text is right, copy it to the golden.
testing::AssertionResult is_golden(const std::string &actual, const std::string &name);

}  // namespace rsslag::documents::test
