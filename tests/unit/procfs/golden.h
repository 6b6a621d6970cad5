// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "../paths.h"
#include "core/result.h"

namespace rsslag::procfs::test {

/// The text of golden/`name`.
inline std::string golden(const std::string &name) {
    std::ifstream file(source_path("tests/unit/procfs/golden/") + name, std::ios::binary);
    EXPECT_TRUE(file) << "no golden " << name;
    return {std::istreambuf_iterator<char>(file), {}};
}

/// `text` with the only occurrence of `from` replaced.
inline std::string with(std::string text, std::string_view from, std::string_view to) {
    std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << "nothing to replace: " << from;
    return text.replace(at, from.size(), to);
}

/// A copy that ends at the end of its heap allocation, so that AddressSanitizer detects a parser that reads beyond it.
class Exact {
  public:
    explicit Exact(std::string_view text) : bytes_(std::make_unique<char[]>(text.size())), size_(text.size()) {
        std::copy(text.begin(), text.end(), bytes_.get());
    }
    std::string_view view() const { return {bytes_.get(), size_}; }

  private:
    std::unique_ptr<char[]> bytes_;
    std::size_t size_;
};

/// Whether it is refused as Corrupt, with `what` in the message.
template <class T>
testing::AssertionResult refused(const core::Result<T> &result, std::string_view what) {
    if (result.ok()) return testing::AssertionFailure() << "was accepted";
    if (result.error().kind != core::Kind::Corrupt) return testing::AssertionFailure() << "is not Corrupt";
    if (result.error().what.find(what) == std::string::npos) {
        return testing::AssertionFailure() << "says: " << result.error().what;
    }
    return testing::AssertionSuccess();
}

}  // namespace rsslag::procfs::test
