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
    std::size_t bytes = 0;    ///< number of bytes consumed
    std::size_t records = 0;  ///< number of records that a BPF program has sent (wire::is_sent())
};
/// Packs up to kMostRecords records from the start of `bytes`. If bytes are not a record, stores them and all following
/// bytes unchanged. Times are stored relative to `base_ns`.
Packed pack(std::span<const std::byte> bytes, std::uint64_t base_ns, Bytes &out);

/// The number of records at the start of `bytes` that a BPF program has sent.
std::uint64_t count_records(std::span<const std::byte> bytes);

/// The bytes that pack() consumed; nullopt if `in` is not the output of pack().
std::optional<std::vector<std::byte>> unpack(ByteReader &in, std::uint64_t base_ns);

}  // namespace rsslag::recording
