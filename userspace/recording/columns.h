// SPDX-License-Identifier: BSD-2-Clause
// Wire records as columns: what repeats is named once, what grows is told by its growth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bytes.h"

namespace rsslag::recording {

/// Records in one batch at most: what a decoder must hold at a time.
inline constexpr std::size_t kMostRecords = 16384;

/// Puts the records at the begin of `bytes` (at most kMostRecords; what is no record ends them and is kept as it is)
/// and tells how many bytes of it they were. `records`: how many of them a program has sent. Times are told from
/// `base_ns` on.
struct Packed {
    std::size_t bytes = 0;
    std::size_t records = 0;
};
Packed pack(std::span<const std::byte> bytes, std::uint64_t base_ns, Bytes &out);

/// How many records there are at the begin of `bytes` that a program has sent.
std::uint64_t count_records(std::span<const std::byte> bytes);

/// The bytes again; nullopt where they are not what pack() makes.
std::optional<std::vector<std::byte>> unpack(ByteReader &in, std::uint64_t base_ns);

}  // namespace rsslag::recording
