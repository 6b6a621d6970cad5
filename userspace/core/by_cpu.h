// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace rsslag::core {

/// Values of those CPUs that have one. A machine may have thousands of CPUs, and most mms are used on a few.
template <class Value>
class ByCpu {
  public:
    /// Added if it is missing. The reference is valid until another CPU is added.
    Value &operator[](int cpu) {
        const auto at = std::lower_bound(values_.begin(), values_.end(), cpu, before);
        if (at != values_.end() && at->first == cpu) return at->second;
        return values_.emplace(at, cpu, Value{})->second;
    }
    /// Null: the CPU has none.
    const Value *find(int cpu) const {
        const auto at = std::lower_bound(values_.begin(), values_.end(), cpu, before);
        return at != values_.end() && at->first == cpu ? &at->second : nullptr;
    }
    std::size_t size() const { return values_.size(); }
    /// Pairs of CPU and value, ascending by CPU.
    auto begin() const { return values_.begin(); }
    auto end() const { return values_.end(); }

  private:
    static bool before(const std::pair<int, Value> &each, int cpu) { return each.first < cpu; }

    std::vector<std::pair<int, Value>> values_;
};

}  // namespace rsslag::core
