// SPDX-License-Identifier: BSD-2-Clause
// Encodes events of a trace as items of a file (kind, length, body) and decodes them.
#pragma once

#include <cstdint>
#include <optional>

#include "bytes.h"
#include "core/event.h"
#include "recording/header.h"

namespace rsslag::recording {

/// Numbers of the item kinds in a file. Version 1 used the missing numbers; they are not reused.
enum class ItemKind : std::uint8_t {
    Records = 2,
    Faults = 7,
    Counters = 8,
    Gap = 12,
    Losses = 13,
    Watermark = 14,
    Attach = 15,
    ExecAwaited = 16,
    Reading = 17,
    TickEnd = 18,
    Stop = 19,
    End = 20,
    FreshStart = 21,
    CpusFolded = 22,
    MappingChanges = 23,
    MappingListing = 24,
    AtExec = 25,
    Samples = 26,
    Stacks = 27,
    AbsentPages = 28,
};

/// Appends kind, length, body. Times are stored relative to `base_ns`.
void put_item(Bytes &out, const event::Event &event, std::uint64_t base_ns);
/// Appends one batch of records, which pack() has packed already.
void put_records(Bytes &out, std::uint32_t ring, std::string_view packed);

/// An undecoded item of a chunk.
struct RawItem {
    std::uint64_t kind = 0;
    std::string_view body;
};
/// The next item; if there is none, in.bad() is true.
RawItem next_raw_item(ByteReader &in);
/// Decodes the body of an item; nullopt: unknown kind, or body.bad().
std::optional<event::Event> read_item(std::uint64_t kind, ByteReader &body, std::uint64_t base_ns);

void put_header(Bytes &out, const Header &header);
/// Decodes a header and skips unknown fields; nullopt: not a header.
std::optional<Header> read_header(std::string_view bytes);

// Implemented in reading_codec.cpp.
void put_counters(Bytes &out, const core::CounterReading &reading);
core::CounterReading read_counters(ByteReader &in);
void put_raw_reading(Bytes &out, const core::RawReading &raw, std::uint64_t base_ns);
core::RawReading read_raw_reading(ByteReader &in, std::uint64_t base_ns);
void put_losses(Bytes &out, const core::Losses &losses);
core::Losses read_losses(ByteReader &in);

}  // namespace rsslag::recording
