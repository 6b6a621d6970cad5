// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/event.h"
#include "core/result.h"
#include "recording/header.h"
#include "recording/reader.h"

namespace rsslag::recording {

/// Keeps the newest part of a trace in memory, in the format of files, as segments that can be read independently.
/// Drops the oldest segments. Not thread-safe.
class MemorySegments {
  public:
    /// `most_bytes`: the limit for all segments together, including data that is not packed yet.
    explicit MemorySegments(std::size_t most_bytes);
    ~MemorySegments();
    MemorySegments(MemorySegments &&) noexcept;
    MemorySegments &operator=(MemorySegments &&) noexcept;

    /// Starts a new segment. The caller then adds events that describe the current state.
    void begin(const Header &header);
    /// Adds an event. false: the event does not fit into this segment; begin() a new one.
    bool add(const event::Event &event);
    /// Whether the segment is large enough to begin() the next one.
    bool full() const;
    std::size_t bytes() const;

    /// The segments as they are now, oldest first. Each stays readable as long as its Input exists.
    std::vector<Input> segments();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::recording
