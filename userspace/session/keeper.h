// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "recording/writer.h"

namespace rsslag::session {

/// Keeps the last minutes of a trace in memory, so that they can be saved after something has happened. There are two
/// recordings: the second starts when the first is long enough, and takes its place when it is long enough itself. So
/// there is always one that goes back far enough, once the trace is that old.
class Keeper {
  public:
    using Clock = std::chrono::steady_clock;
    struct Hooks {
        std::function<recording::Writer &()> begin;                     ///< starts a recording in memory
        std::function<void(recording::Writer &)> drop;                  ///< ends it
        std::function<std::uint64_t(const recording::Writer &)> bytes;  ///< that it takes
    };

    /// A recording is long enough after `span`, or with half of `most_bytes`, which limits both together.
    Keeper(Hooks hooks, std::chrono::milliseconds span, std::uint64_t most_bytes)
        : hooks_(std::move(hooks)), span_(span), most_bytes_(most_bytes) {}

    /// Starts and drops recordings. To be called often: a recording may become longer until the next call.
    void look(Clock::time_point now);

    struct Taken {
        recording::Writer *writer = nullptr;  ///< the caller saves and ends it
        Clock::time_point since;              ///< its start
        bool dropped = false;                 ///< it would go back further, but for its size
    };
    /// The recording that goes back furthest; the caller then owns it. nullopt: there is none yet.
    std::optional<Taken> take(Clock::time_point now);
    /// Drops all.
    void clear();

  private:
    struct Kept {
        recording::Writer *writer;
        Clock::time_point since;
    };
    bool long_enough(const Kept &kept, Clock::time_point now) const;

    Hooks hooks_;
    std::chrono::milliseconds span_;
    std::uint64_t most_bytes_;
    std::deque<Kept> kept_;  ///< one or two, the older first
    bool dropped_ = false;   ///< the last one that was dropped was dropped because of its size
};

}  // namespace rsslag::session
