// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "rsslag/core/event.h"
#include "rsslag/core/result.h"
#include "rsslag/recording/header.h"
#include "rsslag/recording/peak.h"

namespace rsslag::recording {

/// Bytes to read from: a file, or memory.
struct Input {
    /// How many of the bytes from there on there are: fewer than asked for only at the end. Where none can be read: the
    /// errno, negative.
    std::function<std::int64_t(std::uint64_t offset, std::span<char> out)> read;
    std::uint64_t size = 0;
    /// Asked now and then, with how many bytes have been unpacked; true: what is read from now on is the end.
    std::function<bool(std::uint64_t unpacked)> stop = nullptr;
};

/// A regular file. Kind::BadInput for a directory or what cannot be opened, Kind::Io where it cannot be read.
core::Result<Input> open_file(const std::string &path);

/// A part of a recording that is not there or cannot be read. Times are CLOCK_MONOTONIC, as all in a recording.
struct Missing {
    std::string reason;  ///< plain words
    std::uint64_t from_ns = 0;
    std::optional<std::uint64_t> to_ns;    ///< nullopt: until the end, whenever that was
    std::optional<std::uint64_t> records;  ///< nullopt: nobody knows
};

/// Where a chunk of items is, as its head tells.
struct Position {
    std::uint64_t offset = 0;          ///< in the file, bytes
    std::uint64_t number = 0;          ///< of the chunk
    std::uint64_t first_ns = 0;        ///< CLOCK_MONOTONIC
    std::uint64_t last_ns = 0;         ///< likewise
    std::uint64_t records_before = 0;  ///< wire records in all chunks before it
};

/// Reads events in their order, from files of all versions. What is damaged is told of as Missing in its place, and
/// reading goes on after it; memory is that of one chunk.
class Reader {
  public:
    /// Kind::Corrupt: the file is empty, of another kind, or has no header left. Kind::Unsupported: a later version.
    /// `name` is what errors call it.
    static core::Result<Reader> open(Input input, const std::string &name);
    ~Reader();
    Reader(Reader &&) noexcept;
    Reader &operator=(Reader &&) noexcept;

    const Header &header() const;

    /// Chunks of items in their order, from their heads alone; what is damaged is not among them.
    std::vector<Position> positions() const;
    /// As whoever wrote it knew; nullopt where it was not ended, or an older rsslag did not say.
    std::optional<Peak> peak() const;
    /// Goes on there. What comes first may be the rest of what another chunk began.
    void seek(const Position &position);

    using Next = std::variant<event::Event, Missing>;
    /// nullopt: the end. A recording that was not ended as it should be ends with a Missing.
    std::optional<Next> next();

    /// Whether all that was read so far is what was written, and the end was reached as it should be.
    bool complete() const;
    /// Bytes of chunks read so far, unpacked.
    std::uint64_t unpacked() const;
    /// Records in the chunks read so far.
    std::uint64_t records() const;

  private:
    struct State;
    explicit Reader(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::recording
