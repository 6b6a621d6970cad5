// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rsslag/abi.h"

namespace rsslag::probe {

/// Reads a CPU's buffer of updates, which bpf/updates.bpf.h writes, and puts it among what the CPU sent by its ring.
class UpdateBuffer {
  public:
    /// Of a CPU that has not written there yet. Both outlive this.
    UpdateBuffer(rsslag_cpu &cpu, std::span<const rsslag_update> slots) : cpu_(&cpu), slots_(slots) {}

    /// The number of the update that the CPU writes next: those before it are there.
    std::uint64_t sent() const { return __atomic_load_n(&cpu_->updates, __ATOMIC_ACQUIRE); }

    /// Appends those from before a record of this time that has been found in the CPU's ring. What the CPU sent before
    /// that record is there by now. At the same time the record comes first, as no clock is that coarse.
    void take_before(std::uint64_t t_ns, std::vector<std::byte> &out) {
        const std::uint64_t sent = this->sent();
        std::uint64_t end = taken_;
        for (std::size_t at = next_; end != sent && slots_[at].t_ns < t_ns; ++end)
            at = at + 1 < slots_.size() ? at + 1 : 0;
        take_until(end, out);
    }

    /// Appends those before this number.
    void take_until(std::uint64_t end, std::vector<std::byte> &out) {
        while (taken_ < end) {  // in two parts where it goes round
            const auto n = std::min(static_cast<std::size_t>(end - taken_), slots_.size() - next_);
            const auto bytes = std::as_bytes(slots_.subspan(next_, n));
            out.insert(out.end(), bytes.begin(), bytes.end());
            taken_ += n;
            next_ = (next_ + n) % slots_.size();
        }
    }

    /// The places of what has been taken are the CPU's again.
    void give_back() { __atomic_store_n(&cpu_->taken, taken_, __ATOMIC_RELEASE); }

  private:
    rsslag_cpu *cpu_;
    std::span<const rsslag_update> slots_;
    std::uint64_t taken_ = 0;
    std::size_t next_ = 0;  ///< where the one after those is
};

}  // namespace rsslag::probe
