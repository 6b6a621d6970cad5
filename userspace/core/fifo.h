// SPDX-License-Identifier: BSD-2-Clause
// A queue whose elements keep their numbers, in one piece of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rsslag::core {

/// The first element ever put in has number 0, and each its own for as long as it is there.
template <class T>
class Fifo {
  public:
    bool empty() const { return first_ == kept_.size(); }
    std::size_t size() const { return kept_.size() - first_; }
    std::uint64_t first_number() const { return gone_ + first_; }
    std::uint64_t next_number() const { return gone_ + kept_.size(); }

    T &front() { return kept_[first_]; }
    T &operator[](std::uint64_t number) { return kept_[static_cast<std::size_t>(number - gone_)]; }
    auto begin() const { return kept_.begin() + static_cast<std::ptrdiff_t>(first_); }
    auto end() const { return kept_.end(); }

    void push(T value) { kept_.push_back(std::move(value)); }
    T pop() {
        T value = std::move(kept_[first_++]);
        if (first_ == kept_.size() || first_ > kMostGone + kept_.size() / 2) forget();
        return value;
    }

  private:
    /// Moved at a time, so that an element is moved a few times at most.
    static constexpr std::size_t kMostGone = 64;

    void forget() {
        kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(first_));
        gone_ += std::exchange(first_, 0);
    }

    std::vector<T> kept_;
    std::size_t first_ = 0;   ///< of `kept_`, which is still there
    std::uint64_t gone_ = 0;  ///< before `kept_`
};

}  // namespace rsslag::core
