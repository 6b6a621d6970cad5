// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace rsslag::fuzz {

/// The cost that rsslag promises for a file, whose commands enforce it by cli::FileBudget. Memory: 256 MiB plus the
/// size of the file; beyond that operator new throws std::bad_alloc until the destructor. CPU time: 10 s plus 1 s for
/// each 4 MB; a build with sanitizers has four times as much. One object at a time.
class Budget {
  public:
    explicit Budget(std::size_t bytes);
    ~Budget();
    Budget(const Budget &) = delete;
    Budget &operator=(const Budget &) = delete;

    /// Whether the time for reading is over, at 60 % of all time. rsslag then refuses the file.
    bool reading_is_over() const { return used() > 0.6 * seconds_; }
    /// Whether the promise is kept so far.
    bool is_kept() const { return used() < seconds_; }

  private:
    double used() const;

    double began_;
    double seconds_;
};

}  // namespace rsslag::fuzz
