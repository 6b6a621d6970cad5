// SPDX-License-Identifier: BSD-2-Clause
#include "chunk.h"

#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <memory>
#include <new>

namespace rsslag::recording {
namespace {

constexpr int kLevel = 3;
constexpr std::size_t kHeaderCheck = 56;  ///< offset of the header's own check; the check of all follows

template <class Number>
void put_fixed(Bytes &out, Number value) {
    for (std::size_t i = 0; i < sizeof(value); ++i)
        out.push_back(static_cast<char>(value >> (8 * i)));
}

template <class Number>
Number fixed(std::string_view bytes, std::size_t at) {
    Number value = 0;
    for (std::size_t i = 0; i < sizeof(value); ++i)
        value |= static_cast<Number>(static_cast<Number>(static_cast<unsigned char>(bytes[at + i])) << (8 * i));
    return value;
}

std::uint64_t check_of(std::string_view bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t check_of(std::string_view header, std::string_view payload) {
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
    if (!state) throw std::bad_alloc();
    XXH3_64bits_reset(state.get());
    XXH3_64bits_update(state.get(), header.data(), kChunkHeader - sizeof(std::uint64_t));
    XXH3_64bits_update(state.get(), payload.data(), payload.size());
    return XXH3_64bits_digest(state.get());
}

}  // namespace

std::optional<ChunkInfo> read_chunk_header(std::string_view bytes) {
    if (bytes.size() < kChunkHeader || !bytes.starts_with(kChunkMagic)) return std::nullopt;
    if (fixed<std::uint64_t>(bytes, kHeaderCheck) != check_of(bytes.substr(0, kHeaderCheck))) return std::nullopt;
    ChunkInfo info;
    info.kind = fixed<std::uint32_t>(bytes, 8);
    info.stored = fixed<std::uint32_t>(bytes, 12);
    info.raw = fixed<std::uint32_t>(bytes, 16);
    info.records = fixed<std::uint32_t>(bytes, 20);
    info.number = fixed<std::uint64_t>(bytes, 24);
    info.first_ns = fixed<std::uint64_t>(bytes, 32);
    info.last_ns = fixed<std::uint64_t>(bytes, 40);
    info.records_before = fixed<std::uint64_t>(bytes, 48);
    info.check = fixed<std::uint64_t>(bytes, 64);
    if (info.stored > kMostPayload || info.raw > kMostPayload) return std::nullopt;
    return info;
}

bool is_whole(std::string_view header, std::string_view payload) {
    return fixed<std::uint64_t>(header, 64) == check_of(header, payload);
}

std::optional<Bytes> unpack_payload(const ChunkInfo &info, std::string_view payload) {
    if (info.raw == info.stored) return Bytes(payload);
    // Before memory is taken. A frame of a writer has its size.
    if (ZSTD_getFrameContentSize(payload.data(), payload.size()) != info.raw) return std::nullopt;
    Bytes raw(info.raw, '\0');
    const std::size_t size = ZSTD_decompress(raw.data(), raw.size(), payload.data(), payload.size());
    if (ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation) throw std::bad_alloc();  // the file may be whole
    if (ZSTD_isError(size) != 0 || size != raw.size()) return std::nullopt;
    return raw;
}

Bytes make_chunk(ChunkInfo info, std::string_view payload) {
    Bytes packed(ZSTD_compressBound(payload.size()), '\0');
    const std::size_t size = ZSTD_compress(packed.data(), packed.size(), payload.data(), payload.size(), kLevel);
    const bool helps = ZSTD_isError(size) == 0 && size < payload.size();
    const std::string_view stored = helps ? std::string_view(packed).substr(0, size) : payload;
    info.stored = static_cast<std::uint32_t>(stored.size());
    info.raw = static_cast<std::uint32_t>(payload.size());
    Bytes out(kChunkMagic);
    for (const std::uint32_t number : {info.kind, info.stored, info.raw, info.records})
        put_fixed(out, number);
    for (const std::uint64_t number : {info.number, info.first_ns, info.last_ns, info.records_before})
        put_fixed(out, number);
    put_fixed(out, check_of(out));
    put_fixed(out, check_of(out, stored));
    out += stored;
    return out;
}

Bytes make_prologue(std::uint32_t version) {
    Bytes out(kMagic);
    put_fixed(out, version);
    put_fixed(out, static_cast<std::uint32_t>(check_of(out)));
    return out;
}

std::optional<std::uint32_t> read_prologue(std::string_view bytes) {
    if (bytes.size() < kPrologue || !bytes.starts_with(kMagic)) return std::nullopt;
    if (fixed<std::uint32_t>(bytes, 12) != static_cast<std::uint32_t>(check_of(bytes.substr(0, 12))))
        return std::nullopt;
    return fixed<std::uint32_t>(bytes, 8);
}

}  // namespace rsslag::recording
