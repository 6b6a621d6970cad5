// SPDX-License-Identifier: BSD-2-Clause
// The values of an mm's counters.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "by_cpu.h"
#include "core/units.h"

namespace rsslag::core {

/// The counts of an mm and, on the `cpu` scheme, what each CPU caches, by the latest records and readings.
///
/// Records may come late, so each count has a time, and the caller ignores older records. What all CPUs cache is always
/// the sum of what each caches.
///
/// A cell is one value that a reading has: the counts of all members come first, then those of each CPU that has had a
/// value.
class MmCounters {
  public:
    /// `cpus`: how many are possible; 0 unless CPUs have caches.
    explicit MmCounters(std::size_t cpus) : cpus_(cpus) {}

    /// The cells of the CPU are added, with the value 0, if they are missing.
    std::uint32_t cell_of(std::size_t cpu, std::size_t member) {
        std::uint32_t &number = numbers_[static_cast<int>(cpu)];
        if (number == 0) {
            locals_.emplace_back();
            number = static_cast<std::uint32_t>(locals_.size());
        }
        return static_cast<std::uint32_t>(kMembers * number + member);
    }
    std::size_t cells() const { return kMembers * (1 + locals_.size()); }
    std::size_t cpus() const { return cpus_; }
    /// CPUs that have cells, ascending.
    const ByCpu<std::uint32_t> &cpus_with_cells() const { return numbers_; }

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
    const std::array<std::int32_t, kMembers> &cached_by(std::size_t cpu) const {
        static constexpr std::array<std::int32_t, kMembers> kNothing{};
        const std::uint32_t *const number = numbers_.find(static_cast<int>(cpu));
        return number == nullptr ? kNothing : locals_[*number - 1];
    }
    /// The sum over CPUs.
    const std::array<std::int64_t, kMembers> &cached() const { return cached_; }

    /// Records of the count up to this t_ns are old; 0: none has been applied.
    std::uint64_t flushed_ns(std::size_t member) const { return flushed_ns_[member]; }
    void set_flushed_ns(std::size_t member, std::uint64_t t_ns) { flushed_ns_[member] = t_ns; }

  private:
    std::array<std::int64_t, kMembers> flushed_{};
    std::array<std::uint64_t, kMembers> flushed_ns_{};
    std::size_t cpus_;
    ByCpu<std::uint32_t> numbers_;                            ///< index in `locals_` plus one
    std::vector<std::array<std::int32_t, kMembers>> locals_;  ///< in the order in which the CPUs had values
    std::array<std::int64_t, kMembers> cached_{};
};

}  // namespace rsslag::core
