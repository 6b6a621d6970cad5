// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rsslag/core/result.h"

namespace rsslag::terminal {

/// Lines for a descriptor, written by a thread of its own through a bounded queue: who has something to say never waits
/// for who reads it. What finds no room is dropped and counted by lines, and the reader is told where.
class Printer {
  public:
    struct Options {
        std::size_t most_bytes = std::size_t{8} << 20;  ///< in the queue
        std::chrono::milliseconds still{2000};     ///< after a stop: the longest wait for a reader that takes nothing
        std::chrono::milliseconds in_all{10'000};  ///< likewise, for one that takes something now and then
        /// What the reader is told where lines are missing; none: nothing.
        std::function<std::string(std::uint64_t lines)> gap;
    };
    Printer(int fd, Options options);
    /// As finish() after a stop.
    ~Printer();
    Printer(Printer &&) noexcept;
    Printer &operator=(Printer &&) = delete;

    /// Whole lines. Why earlier ones could not be written, which ends it.
    core::Status put(std::string_view lines);
    /// The last ones, for which there is always room.
    core::Status put_last(std::string_view lines);
    /// Lines that found no room, so far.
    std::uint64_t dropped() const;
    /// Waits until all is written; once `stopped`, no longer than the options say: Kind::Io, and the thread is left
    /// behind with what it is writing.
    core::Status finish(const std::function<bool()> &stopped);

  private:
    struct State;
    std::shared_ptr<State> state_;  ///< the thread's, too
};

}  // namespace rsslag::terminal
