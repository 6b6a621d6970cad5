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

#include "core/event.h"
#include "core/result.h"
#include "recording/header.h"
#include "recording/peak_lag.h"

namespace rsslag::recording {

/// A source of bytes: a file, or memory.
struct Input {
    /// Reads up to out.size() bytes at `offset` and returns their number, which is smaller only at the end; or a
    /// negative errno.
    std::function<std::int64_t(std::uint64_t offset, std::span<char> out)> read;
    std::uint64_t size = 0;
    /// Called occasionally with the number of bytes unpacked. If it returns true, this point is treated as the end.
    std::function<bool(std::uint64_t unpacked)> stop = nullptr;
};

/// Opens a regular file. Kind::BadInput if it cannot be opened or is not a regular file, Kind::Io if fstat(2) fails.
core::Result<Input> open_file(const std::string &path);

/// A part of a recording that is missing or cannot be read. Times are CLOCK_MONOTONIC.
struct Missing {
    std::string reason;  ///< text for users
    std::uint64_t from_ns = 0;
    std::optional<std::uint64_t> to_ns;    ///< nullopt: until the end, which is unknown
    std::optional<std::uint64_t> records;  ///< nullopt: unknown
};

/// The position of a chunk of items, from its header.
struct Position {
    std::uint64_t offset = 0;          ///< in the file, bytes
    std::uint64_t number = 0;          ///< of the chunk
    std::uint64_t first_ns = 0;        ///< CLOCK_MONOTONIC
    std::uint64_t last_ns = 0;         ///< CLOCK_MONOTONIC
    std::uint64_t records_before = 0;  ///< wire records in all chunks before it
};

/// Reads the events of a recording in order. Returns damaged parts as Missing and continues after them. Keeps one chunk
/// in memory.
class Reader {
  public:
    /// Kind::Corrupt: the file is empty, is no recording, or both copies of its header are damaged. Kind::BadInput: its
    /// version is not kVersion. Kind::Io: reading fails. `name`: the name of the file for messages.
    static core::Result<Reader> open(Input input, const std::string &name);
    ~Reader();
    Reader(Reader &&) noexcept;
    Reader &operator=(Reader &&) noexcept;

    const Header &header() const;

    /// All chunks of items in order, except damaged ones; reads only the chunks' headers.
    std::vector<Position> positions() const;
    /// The peak that the writer stored; nullopt if the recording was not ended properly or the writer stored none.
    std::optional<PeakLag> peak() const;
    /// Continues at `position`. The first events may depend on events of earlier chunks.
    void seek(const Position &position);

    using Next = std::variant<event::Event, Missing>;
    /// The next event or missing part; nullopt: the end. If the recording was not ended properly, the last element is a
    /// Missing.
    std::optional<Next> next();

    /// Whether the proper end was reached and no part was missing.
    bool complete() const;
    /// The unpacked size of all chunks read so far, in bytes.
    std::uint64_t unpacked() const;
    /// The number of records in the chunks read so far.
    std::uint64_t records() const;

  private:
    struct State;
    explicit Reader(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::recording
