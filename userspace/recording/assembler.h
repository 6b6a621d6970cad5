// SPDX-License-Identifier: BSD-2-Clause
// Turns events into the bytes of a file, chunk by chunk. Uses no clock and no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "bytes.h"
#include "chunk.h"
#include "core/event.h"
#include "recording/header.h"
#include "recording/peak_lag.h"

namespace rsslag::recording {

/// A segment is full at one eighth of the size limit, which is therefore the amount that is deleted at a time.
inline constexpr std::uint64_t kSegmentShare = 8;

/// The size before compression at which a chunk is closed. It limits the data in memory that is lost if rsslag is
/// killed.
inline constexpr std::size_t kFullChunk = std::size_t{1} << 20;

class Assembler {
  public:
    using Sink = std::function<void(const Bytes &)>;
    /// `full`: size of a full chunk. `most`: records that might make the file longer than this are not added.
    explicit Assembler(Sink sink, std::size_t full = kFullChunk, std::uint64_t most = UINT64_MAX)
        : sink_(std::move(sink)), full_(full), most_(most) {}

    /// Writes the prologue and two copies of the header, since nothing can be read without a header.
    void begin(const Header &header);
    /// Adds an event, and closes the chunk if it is full. Returns the number of records that were not added.
    std::uint64_t add(const event::Event &event);
    /// Writes the open chunk.
    void close();
    bool open() const { return !payload_.empty(); }
    /// Closes the open chunk, then writes the index and the end chunk.
    void end(const std::optional<PeakLag> &peak = std::nullopt);
    /// The index and the end chunk that end() would write if no chunk were open.
    Bytes ending(const std::optional<PeakLag> &peak = std::nullopt) const;
    /// Upper bound on the size of ending().
    std::size_t most_ending_bytes() const;

    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t records() const { return records_before_ + records_; }

  private:
    struct Position {
        std::uint64_t offset, first_ns, last_ns, records;
    };
    void give(const Bytes &bytes);
    ChunkInfo next_chunk(ChunkKind kind) const;
    void chunk(ChunkKind kind, std::string_view payload);
    std::uint64_t add_records(const event::Records &records);
    bool has_room(std::size_t bytes) const;

    Sink sink_;
    std::size_t full_;
    std::uint64_t most_;
    Bytes payload_;
    std::uint64_t base_ns_ = 0;  ///< of the open chunk
    std::uint64_t now_ns_ = 0;
    std::uint64_t records_ = 0;  ///< in the open chunk
    std::uint64_t records_before_ = 0;
    std::uint64_t number_ = 0;
    std::uint64_t bytes_ = 0;
    std::vector<Position> index_;
};

}  // namespace rsslag::recording
