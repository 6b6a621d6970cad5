// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/demangle.h"

#include <gtest/gtest.h>

#include <string>

namespace rsslag::unwind {
namespace {

TEST(Demangled, Cplusplus) {
    EXPECT_EQ(demangled("_ZN3foo3barEv"), "foo::bar()");
    EXPECT_EQ(demangled("_ZNSt6vectorIiSaIiEE9push_backERKi"),
              "std::vector<int, std::allocator<int> >::push_back(int const&)");
}

TEST(Demangled, Rust) {
    EXPECT_EQ(demangled("_RNvCs6GmmlP4bgsG_1r5touch"), "r::touch");
    EXPECT_EQ(demangled("_ZN1r5touch17h6dd036d96c7f83e3E"), "r::touch");
    EXPECT_EQ(demangled("_ZN42_$LT$str$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE"),
              "<str as core::fmt::Display>::fmt");
}

TEST(Demangled, LeavesOtherNames) {
    for (const char *const name : {"main", "_start", "f", "i", "", "_Z", "_R", "runtime.mallocgc", "a b\xff"})
        EXPECT_EQ(demangled(name), name);
}

/// Each tuple has the one before it twice, by reference.
TEST(Demangled, EndsWithinASymbolThatGrowsForEver) {
    const auto reference = [](std::size_t at) {
        constexpr const char *kDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        std::string digits;
        for (std::size_t n = at - 1;; n /= 62) {
            digits.insert(digits.begin(), kDigits[n % 62]);
            if (n < 62) return "B" + digits + "_";
        }
    };
    std::string name = "IC1a";
    std::size_t last = name.size();
    name += "TuuE";
    for (int i = 0; i < 60; ++i) {
        const std::size_t at = name.size();
        name += "T" + reference(last) + reference(last) + "E";
        last = at;
    }
    const std::string text = demangled("_R" + name + "E");
    EXPECT_EQ(text.size(), 1000U);
    EXPECT_TRUE(text.starts_with("a::<((), ()), (((), ()), ((), ()))")) << text.substr(0, 60);
}

TEST(Demangled, DeepNames) {
    const std::string pointers = "_Z1f" + std::string(200'000, 'P') + "i";
    EXPECT_TRUE(demangled(pointers) == pointers);
    const std::string tuples = "_RIC1a" + std::string(200'000, 'T') + "E";
    EXPECT_EQ(demangled(tuples).size(), 1000U);
}

}  // namespace
}  // namespace rsslag::unwind
