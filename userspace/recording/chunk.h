// SPDX-License-Identifier: BSD-2-Clause
// A chunk: a header of 72 bytes, then a payload that is decoded without any other chunk. Numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "bytes.h"

namespace rsslag::recording {

inline constexpr std::string_view kMagic{"\x89RSSLAG\n", 8};
inline constexpr std::string_view kChunkMagic{"\x89rslchk\n", 8};
inline constexpr std::size_t kPrologue = 16;  ///< magic, version, low 32 bits of the XXH3-64 of both
inline constexpr std::size_t kChunkHeader = 72;
/// Limit on a payload, stored and unpacked.
inline constexpr std::uint32_t kMostPayload = std::uint32_t{64} << 20;

enum class ChunkKind : std::uint32_t { Header = 1, Items = 2, Index = 3, End = 4 };

struct ChunkInfo {
    std::uint32_t kind = 0;
    std::uint32_t stored = 0;   ///< bytes of the payload in the file
    std::uint32_t raw = 0;      ///< bytes of the payload unpacked; equal to `stored`: not compressed
    std::uint32_t records = 0;  ///< wire records in it
    std::uint64_t number = 0;   ///< position among the chunks of the file, from 0
    std::uint64_t first_ns = 0;
    std::uint64_t last_ns = 0;
    std::uint64_t records_before = 0;  ///< wire records in all chunks before it
    std::uint64_t check = 0;           ///< XXH3-64 over the header up to here and the payload
};

/// Decodes a chunk's header; nullopt: damaged, or not a chunk header.
std::optional<ChunkInfo> read_chunk_header(std::string_view bytes);
/// Verifies the checksum over header and payload. `header`: its kChunkHeader bytes.
bool is_whole(std::string_view header, std::string_view payload);
/// Unpacks a payload that passed is_whole(); nullopt: invalid zstd data.
std::optional<Bytes> unpack_payload(const ChunkInfo &info, std::string_view payload);

/// Returns header and payload, compressed if that makes it smaller. Sets stored, raw and check.
Bytes make_chunk(ChunkInfo info, std::string_view payload);

Bytes make_prologue(std::uint32_t version);
/// The version in a prologue; nullopt: damaged.
std::optional<std::uint32_t> read_prologue(std::string_view bytes);

}  // namespace rsslag::recording
