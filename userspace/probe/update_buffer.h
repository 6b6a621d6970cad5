// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rsslag/abi.h"

namespace rsslag::probe {

/// Reads a CPU's update buffer, which bpf/updates.bpf.h writes, and merges it with the records of the CPU's ring.
class UpdateBuffer {
  public:
    /// The CPU must not have written to the buffer yet. Both arguments must outlive this object.
    UpdateBuffer(rsslag_cpu &cpu, std::span<const rsslag_update> slots) : cpu_(&cpu), slots_(slots) {}

    /// The number of updates that the CPU has written so far.
    std::uint64_t sent() const { return __atomic_load_n(&cpu_->updates, __ATOMIC_ACQUIRE); }

    /// Appends the updates that precede a record with this time in the CPU's ring. All updates that the CPU sent before
    /// that record are in the buffer by now. If times are equal, which is unlikely with CLOCK_MONOTONIC, the record
    /// comes first.
    void take_before(std::uint64_t t_ns, std::vector<std::byte> &out) {
        const std::uint64_t sent = this->sent();
        std::uint64_t end = taken_;
        for (std::size_t at = next_; end != sent && slots_[at].t_ns < t_ns; ++end)
            at = at + 1 < slots_.size() ? at + 1 : 0;
        take_until(end, out);
    }

    /// Appends the updates with numbers below `end`.
    void take_until(std::uint64_t end, std::vector<std::byte> &out) {
        while (taken_ < end) {  // in two parts if the range wraps around
            const auto n = std::min(static_cast<std::size_t>(end - taken_), slots_.size() - next_);
            const auto bytes = std::as_bytes(slots_.subspan(next_, n));
            out.insert(out.end(), bytes.begin(), bytes.end());
            taken_ += n;
            next_ = (next_ + n) % slots_.size();
        }
    }

    /// Lets the CPU overwrite the updates taken so far.
    void give_back() { __atomic_store_n(&cpu_->taken, taken_, __ATOMIC_RELEASE); }

  private:
    rsslag_cpu *cpu_;
    std::span<const rsslag_update> slots_;
    std::uint64_t taken_ = 0;  ///< updates copied out so far
    std::size_t next_ = 0;     ///< index of the next update in slots_
};

}  // namespace rsslag::probe
