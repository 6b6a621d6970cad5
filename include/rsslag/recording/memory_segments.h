// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "rsslag/core/event.h"
#include "rsslag/core/result.h"
#include "rsslag/recording/header.h"
#include "rsslag/recording/reader.h"

namespace rsslag::recording {

/// The newest part of a trace in memory, packed as in a file: segments, each of which is read with no other, and of
/// which the oldest go. Caller's thread only.
class MemorySegments {
  public:
    /// `most_bytes`: all segments together, what is not packed yet included.
    explicit MemorySegments(std::size_t most_bytes);
    ~MemorySegments();
    MemorySegments(MemorySegments &&) noexcept;
    MemorySegments &operator=(MemorySegments &&) noexcept;

    /// A new segment; what is to be added first says what is true by now.
    void begin(const Header &header);
    /// false: there is no room for it in the segment, nor in any but a new one.
    bool add(const event::Event &event);
    /// It is time to begin() anew.
    bool full() const;
    std::size_t bytes() const;

    /// Oldest first, as they are now; each can be read for as long as it is kept.
    std::vector<Input> segments();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::recording
