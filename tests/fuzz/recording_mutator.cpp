// SPDX-License-Identifier: BSD-2-Clause
#include "recording_mutator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "recording/bytes.h"
#include "recording/chunk.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer has
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t most);

namespace rsslag::fuzz {
namespace {

using recording::ByteReader;
using recording::Bytes;
using recording::ChunkInfo;
using recording::ChunkKind;

/// A field of a header is encoded like an item: a number, then a text.
struct Item {
    std::uint64_t kind = 0;
    Bytes body;
};
struct Chunk {
    ChunkInfo info;
    std::vector<Item> items;
};
struct Recording {
    std::uint32_t version = 0;
    std::vector<Chunk> chunks;
};

bool has_items(const ChunkInfo &info) {
    return info.kind == static_cast<std::uint32_t>(ChunkKind::Header) ||
           info.kind == static_cast<std::uint32_t>(ChunkKind::Items);
}

std::vector<Item> items_of(std::string_view payload) {
    std::vector<Item> items;
    ByteReader in(payload);
    while (!in.at_end()) {
        const std::uint64_t kind = in.number();
        const Bytes body(in.text());
        if (!in.bad()) items.push_back({kind, body});
    }
    return items;
}

/// The chunks of a recording without its index and its end, which are written again. nullopt: the bytes are no
/// recording.
std::optional<Recording> taken_apart(std::string_view file) {
    const auto version = recording::read_prologue(file);
    if (!version) return std::nullopt;
    Recording all{*version, {}};
    std::string_view rest = file.substr(recording::kPrologue);
    while (const auto info = recording::read_chunk_header(rest)) {
        rest.remove_prefix(recording::kChunkHeader);
        const std::string_view stored = rest.substr(0, info->stored);
        rest.remove_prefix(stored.size());
        const auto payload = recording::unpack_payload(*info, stored);
        if (payload && has_items(*info)) all.chunks.push_back({*info, items_of(*payload)});
    }
    return all.chunks.empty() ? std::nullopt : std::optional(std::move(all));
}

Bytes put_together(const Recording &all) {
    Bytes file = recording::make_prologue(all.version);
    ChunkInfo info;
    for (const Chunk &chunk : all.chunks) {
        info = chunk.info;
        Bytes payload;
        for (const Item &item : chunk.items) {
            recording::put(payload, item.kind);
            recording::put_text(payload, item.body);
        }
        file += recording::make_chunk(info, payload);
    }
    info.kind = static_cast<std::uint32_t>(ChunkKind::End);
    info.number++;
    info.records = 0;
    Bytes end;
    recording::put(end, 0);
    recording::put(end, 0);
    return file + recording::make_chunk(info, end);
}

class Mutator {
  public:
    explicit Mutator(unsigned seed) : random_(seed) {}

    void change(Recording &all) {
        Chunk &chunk = pick(all.chunks);
        if (chunk.items.empty()) return;
        const std::size_t at = below(chunk.items.size());
        switch (below(8)) {
            case 0: change_bytes(chunk.items[at].body); break;
            case 1:
                chunk.items.insert(chunk.items.begin() + static_cast<std::ptrdiff_t>(at), Item(pick(chunk.items)));
                break;
            case 2: chunk.items.erase(chunk.items.begin() + static_cast<std::ptrdiff_t>(at)); break;
            case 3: std::swap(chunk.items[at], pick(chunk.items)); break;
            case 4: chunk.items[at].kind = below(kKinds); break;
            case 5: change_column(chunk.items[at]); break;
            case 6: change_clock(chunk.info); break;
            default: change_number(chunk.items[at].body); break;
        }
    }
    std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  private:
    static constexpr std::size_t kKinds = 30;  // one more than there are

    template <class List>
    typename List::value_type &pick(List &list) {
        return list[below(list.size())];
    }
    std::uint64_t hostile() {
        constexpr std::array<std::uint64_t, 12> kHostile{
            0, 1, 2, 63, 16'384, UINT32_MAX, 1ULL << 36, 1ULL << 52, INT64_MAX, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX};
        return kHostile[below(kHostile.size())];
    }

    static void change_bytes(Bytes &bytes) {
        constexpr std::size_t kMore = 64;
        const std::size_t size = bytes.size();
        bytes.resize(size + kMore);
        bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t *>(bytes.data()), size, bytes.size()));
    }
    /// Changes one of the varints, wherever it starts.
    void change_number(Bytes &body) {
        if (body.empty()) return;
        const std::size_t begin = below(body.size());
        std::size_t end = begin;
        while (end < body.size() && (static_cast<unsigned char>(body[end]) & 0x80) != 0)
            ++end;
        Bytes number;
        recording::put(number, hostile());
        body.replace(begin, std::min(end + 1, body.size()) - begin, number);
    }
    /// Changes wire records and keeps the lengths of their columns correct.
    void change_column(Item &item) {
        constexpr std::uint64_t kRecords = 2;
        if (item.kind != kRecords) return change_number(item.body);
        ByteReader in(item.body);
        Bytes out;
        recording::put(out, in.number());
        recording::put(out, in.number());
        std::vector<Bytes> columns;
        while (!in.at_end())
            columns.emplace_back(in.text());
        if (columns.empty() || in.bad()) return;
        Bytes &column = pick(columns);
        below(2) == 0 ? change_bytes(column) : change_number(column);
        for (const Bytes &each : columns)
            recording::put_text(out, each);
        item.body = std::move(out);
    }
    void change_clock(ChunkInfo &info) { (below(2) == 0 ? info.first_ns : info.last_ns) = hostile(); }

    std::minstd_rand random_;
};

}  // namespace

std::size_t mutate_recording(std::uint8_t *data, std::size_t size, std::size_t most, unsigned seed) {
    constexpr std::size_t kPlain = 16;  // one change in this many is to raw bytes
    Mutator mutator(seed);
    auto all = taken_apart({reinterpret_cast<const char *>(data), size});
    if (!all || mutator.below(kPlain) == 0) return LLVMFuzzerMutate(data, size, most);
    for (std::size_t changes = 1 + mutator.below(4); changes > 0; --changes)
        mutator.change(*all);
    const Bytes file = put_together(*all);
    if (file.size() > most) return LLVMFuzzerMutate(data, size, most);
    std::memcpy(data, file.data(), file.size());
    return file.size();
}

}  // namespace rsslag::fuzz
