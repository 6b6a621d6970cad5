// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "report/report.h"

namespace rsslag::report {

/// Growth by the address of the fault that caused it, in steps of 2 MiB to save memory.
class GrowthByAddress {
  public:
    void add(std::uint64_t address, core::Pages pages) {
        const std::uint64_t step = address >> kStepBits;
        if (last_ == nullptr || step != last_step_) {
            last_ = &steps_[step];
            last_step_ = step;
        }
        if (last_->updates++ == 0) last_->from = last_->to = address;
        last_->pages += pages;
        if (address < last_->from) last_->from = address;
        if (address > last_->to) last_->to = address;
    }

    /// Ranges of addresses, largest growth first. Steps that are less than 64 MiB apart form one range.
    std::vector<Growth> ranges(const core::PageSize &page_size) const;

  private:
    static constexpr int kStepBits = 21;

    std::unordered_map<std::uint64_t, Growth> steps_;  ///< references to values stay valid
    std::uint64_t last_step_ = 0;
    Growth *last_ = nullptr;
};

}  // namespace rsslag::report
