// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

/// A test that is not of the gate, with the reason: a clock, the load of the machine or the scheduler can make it fail,
/// or it takes minutes. scripts/test --long runs it, and sets RSSLAG_TEST_LONG. tests/README.md has the rule.
#define RSSLAG_LONG_ONLY(reason) \
    if (!::rsslag::test::long_run()) GTEST_SKIP() << "scripts/test --long: " reason

namespace rsslag::test {

inline bool long_run() {
    const char *const set = std::getenv("RSSLAG_TEST_LONG");
    return set != nullptr && !std::string_view(set).empty();
}

}  // namespace rsslag::test
