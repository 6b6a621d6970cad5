// SPDX-License-Identifier: BSD-2-Clause
// A queue in contiguous memory whose elements keep their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rsslag::core {

/// Elements are numbered from 0 in the order of push(), and keep their numbers.
template <class T>
class Fifo {
  public:
    bool empty() const { return first_ == kept_.size(); }
    std::size_t size() const { return kept_.size() - first_; }

    std::uint64_t next_number() const { return gone_ + kept_.size(); }

    T &front() { return kept_[first_]; }
    T &operator[](std::uint64_t number) { return kept_[static_cast<std::size_t>(number - gone_)]; }
    auto begin() const { return kept_.begin() + static_cast<std::ptrdiff_t>(first_); }
    auto end() const { return kept_.end(); }

    void push(T value) {
        if (kept_.size() == kept_.capacity()) make_space();
        kept_.push_back(std::move(value));
    }
    T pop() {
        T value = std::move(kept_[first_++]);
        if (first_ == kept_.size() || first_ > kMostGone + kept_.size() / 2) forget();
        return value;
    }

  private:
    /// Popped elements are erased in batches, so that an element is moved a few times at most.
    static constexpr std::size_t kMostGone = 64;
    static constexpr std::size_t kMostSpare = 1024;

    void forget() {
        kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(first_));
        gone_ += std::exchange(first_, 0);
        if (kept_.capacity() > kMostSpare + 4 * kept_.size()) kept_.shrink_to_fit();
    }
    /// A vector would double its capacity, also for elements that were popped.
    void make_space() {
        if (first_ > kMostGone + kept_.size() / 8) return forget();
        kept_.reserve(kept_.size() + kept_.size() / 2 + 4);
    }

    std::vector<T> kept_;
    std::size_t first_ = 0;   ///< index of the front in `kept_`
    std::uint64_t gone_ = 0;  ///< elements erased before `kept_`
};

}  // namespace rsslag::core
