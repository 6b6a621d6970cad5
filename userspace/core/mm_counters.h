// SPDX-License-Identifier: BSD-2-Clause
// The values of an mm's counters.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/units.h"

namespace rsslag::core {

/// The counts of an mm and, on the `cpu` scheme, what each CPU caches, by the latest records and readings.
///
/// Records may come late, so each count has a time, and the caller ignores older records. What all CPUs cache is always
/// the sum of what each caches.
///
/// A cell is one value that a reading has: the counts of all members come first, then those of each CPU.
class MmCounters {
  public:
    /// `cpus`: 0 unless CPUs have caches.
    explicit MmCounters(std::size_t cpus) : locals_(cpus) {}

    static constexpr std::uint32_t cell_of(std::size_t cpu, std::size_t member) {
        return static_cast<std::uint32_t>(kMembers + cpu * kMembers + member);
    }
    std::size_t cells() const { return kMembers * (1 + locals_.size()); }
    std::size_t cpus() const { return locals_.size(); }

    std::int64_t value(std::uint32_t cell) const {
        return cell < kMembers ? flushed_[cell] : locals_[cell / kMembers - 1][cell % kMembers];
    }
    void set(std::uint32_t cell, std::int64_t value) {
        if (cell < kMembers) {
            flushed_[cell] = value;
            return;
        }
        std::int32_t &local = locals_[cell / kMembers - 1][cell % kMembers];
        cached_[cell % kMembers] += value - local;
        local = static_cast<std::int32_t>(value);
    }

    const std::array<std::int64_t, kMembers> &flushed() const { return flushed_; }
    const std::array<std::int32_t, kMembers> &cached_by(std::size_t cpu) const { return locals_[cpu]; }
    /// The sum over CPUs.
    const std::array<std::int64_t, kMembers> &cached() const { return cached_; }

    /// Records of the count up to this t_ns are old; 0: none has been applied.
    std::uint64_t flushed_ns(std::size_t member) const { return flushed_ns_[member]; }
    void set_flushed_ns(std::size_t member, std::uint64_t t_ns) { flushed_ns_[member] = t_ns; }

  private:
    std::array<std::int64_t, kMembers> flushed_{};
    std::array<std::uint64_t, kMembers> flushed_ns_{};
    std::vector<std::array<std::int32_t, kMembers>> locals_;  ///< by CPU
    std::array<std::int64_t, kMembers> cached_{};
};

}  // namespace rsslag::core
