// SPDX-License-Identifier: BSD-2-Clause
// Items in, a file's bytes out: chunk by chunk. No clock, no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "bytes.h"
#include "chunk.h"
#include "rsslag/recording/header.h"
#include "rsslag/recording/items.h"

namespace rsslag::recording {

/// A chunk closes at this size: before compression, so that what a kill can take is bounded in memory, too.
inline constexpr std::size_t kFullChunk = std::size_t{1} << 20;

class Assembler {
  public:
    using Sink = std::function<void(const Bytes &)>;
    explicit Assembler(Sink sink, std::size_t full = kFullChunk) : sink_(std::move(sink)), full_(full) {}

    /// The prologue and the header, twice: nothing can be read without it.
    void begin(const Header &header);
    /// Closes the chunk where it is full.
    void add(const Item &item);
    /// What is open goes out.
    void close();
    bool open() const { return !payload_.empty(); }
    /// The index, and that it ended as it should.
    void end(const std::optional<Peak> &peak = std::nullopt);

    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t records() const { return records_before_ + records_; }

  private:
    struct Place {
        std::uint64_t offset, first_ns, last_ns, records;
    };
    void give(const Bytes &bytes);
    void chunk(ChunkKind kind, std::string_view payload);
    void add_records(const Records &records);

    Sink sink_;
    std::size_t full_;
    Bytes payload_;
    std::uint64_t base_ns_ = 0;  ///< of the open chunk
    std::uint64_t now_ns_ = 0;
    std::uint64_t records_ = 0;  ///< in the open chunk
    std::uint64_t records_before_ = 0;
    std::uint64_t number_ = 0;
    std::uint64_t bytes_ = 0;
    std::vector<Place> index_;
};

}  // namespace rsslag::recording
