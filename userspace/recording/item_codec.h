// SPDX-License-Identifier: BSD-2-Clause
// Items as bytes and back.
#pragma once

#include <cstdint>
#include <optional>

#include "bytes.h"
#include "rsslag/recording/header.h"
#include "rsslag/recording/items.h"

namespace rsslag::recording {

/// Kinds of items, as the file has them.
enum class ItemKind : std::uint8_t {
    Call = 1,
    Records = 2,
    Collected = 3,
    Now = 4,
    Time = 5,
    Losses = 6,
    Faults = 7,
    Counters = 8,
    Reading = 9,
    Wanted = 10,
    Cost = 11,
    Overflow = 12,
};

/// All but Records, which go in batches: kind, length, body. Times are told from `base_ns` on.
void put_item(Bytes &out, const Item &item, std::uint64_t base_ns);
void put_records(Bytes &out, std::uint32_t ring, std::string_view packed);

/// The next item; nullopt: one of a kind that is not known here (it is skipped), or in.bad().
std::optional<Item> next_item(In &in, std::uint64_t base_ns);

void put_header(Bytes &out, const Header &header);
/// Fields that are not known are skipped. nullopt: it is no header.
std::optional<Header> read_header(std::string_view bytes);

// Readings, in a file of their own.
void put_counters(Bytes &out, const core::CounterReading &reading);
core::CounterReading read_counters(In &in);
void put_raw_reading(Bytes &out, const core::RawReading &raw, std::uint64_t base_ns);
core::RawReading read_raw_reading(In &in, std::uint64_t base_ns);
void put_losses(Bytes &out, const core::Losses &losses);
core::Losses read_losses(In &in);

}  // namespace rsslag::recording
