// SPDX-License-Identifier: BSD-2-Clause
#include "assembler.h"

#include <algorithm>
#include <span>

#include "columns.h"
#include "item_codec.h"

namespace rsslag::recording {
void Assembler::give(const Bytes &bytes) {
    bytes_ += bytes.size();
    sink_(bytes);
}

ChunkInfo Assembler::next_chunk(ChunkKind kind) const {
    ChunkInfo info;
    info.kind = static_cast<std::uint32_t>(kind);
    info.records = static_cast<std::uint32_t>(records_);
    info.number = number_;
    info.first_ns = base_ns_;
    info.last_ns = now_ns_;
    info.records_before = records_before_;
    return info;
}

void Assembler::chunk(ChunkKind kind, std::string_view payload) {
    give(make_chunk(next_chunk(kind), payload));
    number_++;
}

void Assembler::begin(const Header &header) {
    base_ns_ = now_ns_ = header.start_ns;
    give(make_prologue(kVersion));
    Bytes payload;
    put_header(payload, header);
    chunk(ChunkKind::Header, payload);
    chunk(ChunkKind::Header, payload);
}

std::uint64_t Assembler::add(const event::Event &event) {
    if (payload_.empty()) base_ns_ = now_ns_;
    now_ns_ = std::max(now_ns_, event::time_of(event).value_or(0));
    if (const auto *const records = std::get_if<event::Records>(&event)) return add_records(*records);
    put_item(payload_, event, base_ns_);
    if (payload_.size() >= full_) close();
    return 0;
}

/// Whether that many more bytes fit, including chunk headers, the ending and a reserve.
bool Assembler::has_room(std::size_t bytes) const {
    constexpr std::uint64_t kReserve = 16;  // one sixteenth of the limit, for readings and the end of a segment
    const std::uint64_t all = bytes_ + payload_.size() + bytes + 2 * kChunkHeader + most_ending_bytes();
    return all <= most_ - most_ / kReserve;
}

std::uint64_t Assembler::add_records(const event::Records &records) {
    std::span<const std::byte> rest = records.bytes;
    Bytes packed;
    while (!rest.empty()) {
        if (payload_.empty()) base_ns_ = now_ns_;
        packed.clear();
        const Packed done = pack(rest, base_ns_, packed);
        if (!has_room(packed.size())) return count_records(rest);
        rest = rest.subspan(done.bytes);
        put_records(payload_, records.ring, packed);
        records_ += done.records;
        if (payload_.size() >= full_) close();
    }
    return 0;
}

void Assembler::close() {
    if (payload_.empty()) return;
    const std::uint64_t offset = bytes_;
    chunk(ChunkKind::Items, payload_);
    index_.push_back({offset, base_ns_, now_ns_, records_});
    payload_.clear();
    records_before_ += records_;
    records_ = 0;
    base_ns_ = now_ns_;
}

void Assembler::end(const std::optional<PeakLag> &peak) {
    close();
    give(ending(peak));
}

Bytes Assembler::ending(const std::optional<PeakLag> &peak) const {
    Bytes index;
    put(index, index_.size());
    Position before{};
    for (const Position &position : index_) {
        put(index, position.offset - before.offset);
        put_signed(index, static_cast<std::int64_t>(position.first_ns - before.first_ns));
        put(index, position.last_ns - position.first_ns);
        put(index, position.records);
        before = position;
    }
    put(index, peak ? 1 : 0);
    if (peak) {
        put(index, peak->t_ns);
        put_signed(index, peak->pid);
        put_signed(index, peak->lag.n);
    }
    ChunkInfo info = next_chunk(ChunkKind::Index);
    info.records = 0;
    Bytes ending = make_chunk(info, index);
    Bytes end;
    put(end, bytes_);
    put(end, records_before_);
    info.kind = static_cast<std::uint32_t>(ChunkKind::End);
    info.number++;
    return ending + make_chunk(info, end);
}

std::size_t Assembler::most_ending_bytes() const {
    constexpr std::size_t kNumber = 10;  // largest varint
    return 2 * kChunkHeader + kNumber * (4 * (index_.size() + 1) + 8);
}

}  // namespace rsslag::recording
