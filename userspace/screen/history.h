// SPDX-License-Identifier: BSD-2-Clause
// The ticks of the last minutes, so that the screen can show an earlier moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "screen/screen.h"

namespace rsslag::screen {

/// All ticks of one moment have the same Tick::seq.
struct Moment {
    std::uint64_t seq = 0;
    std::uint64_t t_ns = 0;  ///< of its last tick, since the attach
};

class History {
  public:
    /// `ns`: how long a tick is kept; 0: none is. `bytes`: what all of them may take, about.
    History(std::uint64_t ns, std::size_t bytes) : most_ns_(ns), most_bytes_(bytes) {}

    /// Ticks must come in the order of `seq`. The oldest ones are dropped at the limits.
    void add(const Tick &tick, const std::string &user, const std::string &cgroup);
    void clear();
    bool kept() const { return most_ns_ > 0; }
    /// Whether ticks were dropped because of their size.
    bool dropped_by_size() const { return dropped_by_size_; }
    std::size_t most_bytes() const { return most_bytes_; }

    /// The moments with a tick, or with one of this process; ascending.
    std::vector<Moment> moments(std::optional<int> pid) const;
    /// Calls `use` for each tick until and including this moment, in their order.
    void each_until(
        std::uint64_t seq,
        const std::function<void(const Tick &tick, const std::string &user, const std::string &cgroup)> &use) const;

  private:
    struct Entry {
        Tick tick;
        std::string user, cgroup;
        std::size_t bytes = 0;
    };

    std::uint64_t most_ns_;
    std::size_t most_bytes_;
    std::size_t bytes_ = 0;
    bool dropped_by_size_ = false;
    std::deque<Entry> entries_;
};

}  // namespace rsslag::screen
