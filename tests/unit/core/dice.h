// SPDX-License-Identifier: BSD-2-Clause
// Random numbers that are the same on every machine, unlike those of the standard's distributions.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace rsslag::core::test {

#ifdef RSSLAG_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Number of runs: a quarter in the gate, and fewer in a sanitizer's build, which takes about 60 times as long and
/// finds other errors. RSSLAG_TEST_TIMES: a factor.
inline int runs(int count) {
    if (const char *times = std::getenv("RSSLAG_TEST_TIMES")) return count * std::atoi(times);
    if (kSanitized) return (count + 9) / 10;
    return std::getenv("RSSLAG_TEST_LONG") != nullptr ? count : (count + 3) / 4;
}

/// RSSLAG_TEST_SEED: the first seed, to repeat a failure.
inline std::uint64_t first_seed() {
    const char *const seed = std::getenv("RSSLAG_TEST_SEED");
    return seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
}

/// A number that is so large that visiting all for each would take many minutes; smaller in a sanitizer's build.
constexpr int many(int count) {
    return kSanitized ? count / 20 : count;
}

class Dice {
  public:
    explicit Dice(std::uint64_t seed) : random_(seed) {}

    std::int64_t between(std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
    }
    std::uint64_t ns(std::uint64_t least, std::uint64_t most) { return least + random_() % (most - least + 1); }
    bool once_in(std::int64_t n) { return between(1, n) == 1; }

  private:
    std::mt19937_64 random_;
};

}  // namespace rsslag::core::test
