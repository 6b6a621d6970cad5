// SPDX-License-Identifier: BSD-2-Clause
// Wire records as columns: repeated values are stored once, and growing values as differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bytes.h"

namespace rsslag::recording {

/// Limit on the records of one batch, which a decoder holds in memory.
inline constexpr std::size_t kMostRecords = 16384;

struct Packed {
    std::size_t bytes = 0;    ///< consumed
    std::size_t records = 0;  ///< that a program has sent (wire::is_sent())
};
/// Packs up to kMostRecords records from the start of `bytes`. If it meets bytes that are not a record, it stores all
/// the rest as it is. Times are stored relative to `base_ns`.
Packed pack(std::span<const std::byte> bytes, std::uint64_t base_ns, Bytes &out);

/// Number of records at the start of `bytes` that a program has sent.
std::uint64_t count_records(std::span<const std::byte> bytes);

/// The bytes that pack() took; nullopt: not the output of pack().
std::optional<std::vector<std::byte>> unpack(ByteReader &in, std::uint64_t base_ns);

}  // namespace rsslag::recording
