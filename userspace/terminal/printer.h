// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace rsslag::terminal {

/// Writes lines to a descriptor with a separate thread and a bounded queue, so that the caller never waits for the
/// reader. Lines that do not fit into the queue are dropped and counted; `gap` marks the place in the output.
class Printer {
  public:
    struct Options {
        std::size_t most_bytes = std::size_t{8} << 20;  ///< in the queue
        std::chrono::milliseconds still{2000};          ///< after a stop: longest wait for a reader that does not read
        std::chrono::milliseconds in_all{10'000};       ///< after a stop: longest wait in all
        /// Makes the text that stands for missing lines; if empty, there is none.
        std::function<std::string(std::uint64_t lines)> gap;
    };
    Printer(int fd, Options options);
    /// Like finish() after a stop.
    ~Printer();
    Printer(Printer &&) noexcept;
    Printer &operator=(Printer &&) = delete;

    /// Queues whole lines. Returns the error of an earlier write, after which nothing is written.
    core::Status put(std::string_view lines);
    /// Queues the last lines; they are never dropped.
    core::Status put_last(std::string_view lines);
    /// Lines dropped so far.
    std::uint64_t dropped() const;
    /// Waits until all is written. After `stopped` returns true, waits no longer than the options allow; then returns
    /// Kind::Io, and the thread stays blocked in write(2).
    core::Status finish(const std::function<bool()> &stopped);

  private:
    struct State;
    std::shared_ptr<State> state_;  ///< shared with the thread
};

}  // namespace rsslag::terminal
