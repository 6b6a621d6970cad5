// SPDX-License-Identifier: BSD-2-Clause
// A chunk: 72 bytes of header, then a payload that no other chunk is needed for. Numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "bytes.h"

namespace rsslag::recording {

inline constexpr std::string_view kMagic{"\x89RSSLAG\n", 8};
inline constexpr std::string_view kChunkMagic{"\x89rslchk\n", 8};
inline constexpr std::size_t kPrologue = 16;  ///< magic, version, the low 32 bits of their XXH3-64
inline constexpr std::size_t kChunkHeader = 72;
/// No writer makes larger ones, stored or unpacked.
inline constexpr std::uint32_t kMostPayload = std::uint32_t{64} << 20;

enum class ChunkKind : std::uint32_t { Header = 1, Items = 2, Index = 3, End = 4 };

struct ChunkInfo {
    std::uint32_t kind = 0;
    std::uint32_t stored = 0;   ///< bytes of the payload in the file
    std::uint32_t raw = 0;      ///< … and unpacked; equal to `stored`: it is not compressed
    std::uint32_t records = 0;  ///< wire records in it
    std::uint64_t number = 0;   ///< of the chunks of the file, from 0
    std::uint64_t first_ns = 0;
    std::uint64_t last_ns = 0;
    std::uint64_t records_before = 0;  ///< in the chunks before it
    std::uint64_t check = 0;           ///< XXH3-64 over the header before it and the payload
};

/// Reads a header; nullopt where it is damaged or none.
std::optional<ChunkInfo> read_chunk_header(std::string_view bytes);
/// Whether header and payload are what was written. `header` are its kChunkHeader bytes.
bool is_whole(std::string_view header, std::string_view payload);
/// Unpacks what is_whole(); nullopt where it cannot be.
std::optional<Bytes> unpack_payload(const ChunkInfo &info, std::string_view payload);

/// Compresses the payload (where that helps) and puts a header before it; fills in stored, raw and check.
Bytes make_chunk(ChunkInfo info, std::string_view payload);

Bytes make_prologue(std::uint32_t version);
/// The version, where the prologue is whole.
std::optional<std::uint32_t> read_prologue(std::string_view bytes);

}  // namespace rsslag::recording
