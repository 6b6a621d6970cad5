// SPDX-License-Identifier: BSD-2-Clause
// What a few updates may have brought whose counts may hold one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rsslag::core {

/// What the record says of why it came.
enum class FoldCause : std::uint8_t {
    Other,      ///< most often a zap
    AnonFault,  ///< of an anon page
    PageFault,  ///< of a file or shmem page, or from swap
    Teardown,
    Copy,  ///< into an mm that is being made
};

/// An amount and how far the truth may be from it.
struct FoldAmount {
    std::int64_t least = 0, most = 0;  ///< what it may be
    std::int64_t pages = 0;
    std::int64_t uncertain = 0;
};

/// The least and the most that an update of this cause brings.
FoldAmount limits_of(FoldCause cause);
/// What the amount is if its fault mapped a single page, as nearly all do; 0: not known.
std::int64_t presumed_of(FoldCause cause, std::int64_t before, std::int64_t batch);

/// Narrows each amount by what all others may be, their sum being known; `pages` is the least, `uncertain` the width.
/// False where nothing fits.
bool narrow(std::vector<FoldAmount> &amounts, std::int64_t sum);

/// Each update moved the count by before + amount, which is 0 or at least a batch (lib/percpu_counter.c), and is first
/// seen in its own count or an earlier one. Looks through all that fits and keeps what is most usual.
class FoldSearch {
  public:
    struct One {
        FoldCause cause = FoldCause::Other;
        std::int64_t before = 0;
        std::int64_t moved = 0;  ///< its count less the one before
        std::size_t from = 0;    ///< the first whose count may hold it
    };
    static constexpr std::size_t kMost = 4;

    FoldSearch(std::vector<One> folds, std::int64_t batch);
    /// What each amount may be; empty where nothing fits.
    std::vector<FoldAmount> amounts();

  private:
    /// What an update may have moved the count by, without a gap.
    struct Option {
        std::int64_t least, most;
        int unusual;
    };
    struct Choice {
        Option option;
        std::size_t seen;  ///< in the count of this one first
    };

    std::vector<Option> options_of(const One &fold) const;
    void choose(std::size_t index, int unusual);
    void take();

    std::vector<One> folds_;
    std::int64_t batch_;
    std::vector<std::vector<Option>> options_;
    std::vector<Choice> chosen_;
    std::optional<int> best_;
    std::vector<FoldAmount> found_;
};

}  // namespace rsslag::core
