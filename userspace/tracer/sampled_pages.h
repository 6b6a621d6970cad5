// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/mapping.h"
#include "core/samples.h"

namespace rsslag::tracer {

/// The pages that samples own (core::owns_page) and that may still be resident. Pure.
class SampledPages {
  public:
    /// Above this number of pages all are forgotten, and no more are noted.
    static constexpr std::size_t kMost = std::size_t{1} << 18;

    explicit SampledPages(std::size_t most = kMost) : most_(most) {}

    void note(const core::Sample &sample, std::uint64_t number);
    /// Follows the pages that mremap has moved. Ignores other changes.
    void change(const core::MappingChange &change);
    bool overflowed() const { return overflowed_; }

    struct Space {
        std::uint64_t from = 0;                        ///< number of its first sample
        std::map<std::uint64_t, std::uint64_t> pages;  ///< the times of their last samples, by address
        bool fresh = true;                             ///< noted since the last keep()
    };
    /// nullptr: no sample of this mm owns a page.
    const Space *of(std::uint64_t mm) const;
    void forget(std::uint64_t mm, std::span<const std::uint64_t> pages);
    /// Forgets all mms but these and those first noted since the last call: their processes may not be known yet.
    void keep(const std::set<std::uint64_t> &mms);

  private:
    std::size_t most_, size_ = 0;
    bool overflowed_ = false;
    std::unordered_map<std::uint64_t, Space> spaces_;  ///< by mm
    std::unordered_map<int, std::uint64_t> mm_of_;     ///< of the last sample, by PID
};

}  // namespace rsslag::tracer
