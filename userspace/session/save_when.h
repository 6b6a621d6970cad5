// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/observer.h"
#include "core/assertion.h"
#include "core/result.h"

namespace rsslag::session {

/// Parses the value of --save-when: 'rss>2GiB and growth>1MiB'. Kind::BadInput as core::parse_assertions().
core::Result<std::vector<core::Assertion>> parse_save_when(std::string_view text);

/// The growth that conditions compare is that of so many nanoseconds.
inline constexpr std::uint64_t kGrowthOfNs = 5'000'000'000;

/// Finds out at each tick of which processes all conditions hold. A process without a tick at a moment is at rest: its
/// counters are those of its last tick. It needs ticks until it has been at rest for kGrowthOfNs.
class SaveWhen : public analysis::TraceObserver {
  public:
    explicit SaveWhen(std::vector<core::Assertion> conditions) : conditions_(std::move(conditions)) {}

    bool needs_records() const override { return false; }
    void on_tick(core::Tick tick) override;

    /// Whether they hold of a process, as of its last tick, or have held of one that has ended since the last call.
    bool holds() { return std::exchange(held_, false) || !holding_.empty(); }
    /// The process of which they began to hold last.
    int pid() const { return pid_; }
    /// "rss 2,104,448 kB > 2 GiB, in cache [4711]": of that process, when they began to hold.
    const std::string &reason() const { return reason_; }

  private:
    struct Point {
        std::uint64_t t_ns;
        core::Pages rss;
    };
    struct Known {
        std::deque<Point> points;  ///< of the last seconds
        std::uint64_t t_ns = 0;    ///< of the last tick
    };
    /// Bytes, or bytes per second.
    double value_of(const core::Assertion &condition, const core::Tick &tick, const Known &known) const;

    std::vector<core::Assertion> conditions_;
    std::map<int, Known> known_;                   ///< by PID
    std::uint64_t seq_ = 0;                        ///< of the last tick
    std::uint64_t moment_ns_ = 0, before_ns_ = 0;  ///< first ticks with the last two `seq`
    std::set<int> holding_;                        ///< PIDs
    bool held_ = false;                            ///< of a process that has ended
    int pid_ = 0;
    std::string reason_;
};

}  // namespace rsslag::session
