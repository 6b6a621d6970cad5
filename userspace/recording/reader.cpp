// SPDX-License-Identifier: BSD-2-Clause
#include "recording/reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "chunk.h"
#include "core/fd.h"
#include "item_codec.h"

namespace rsslag::recording {
namespace {

using core::Error;
using core::Kind;

/// A later version may hold what this reader would misread. Version 1, which no release wrote, held a tracer's calls.
Error wrong_version(const std::string &name, std::uint32_t version) {
    return {Kind::BadInput,
            fmt::format("{} has format version {}; this rsslag reads version {}", name, version, kVersion), 0,
            "read it with the rsslag that wrote it"};
}

const char *remedy_for(int err) {
    if (err == EMFILE || err == ENFILE) return "";
    if (err == EACCES) return "run rsslag as a user who may read it; as root it does so without capabilities";
    return "name a file written by rsslag record or live --record";
}

}  // namespace

core::Result<Input> open_file(const std::string &path) {
    const auto file = std::make_shared<core::Fd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const int err = errno;
    if (!file->open()) {
        return Error{Kind::BadInput, fmt::format("cannot open {}: {}", path, std::strerror(err)), err, remedy_for(err)};
    }
    struct stat status {};
    if (fstat(file->get(), &status) != 0)
        return Error{Kind::Io, fmt::format("cannot read {}: {}", path, std::strerror(errno)), errno, ""};
    if (!S_ISREG(status.st_mode)) {
        return Error{Kind::BadInput,
                     fmt::format("{} is {}", path, S_ISDIR(status.st_mode) ? "a directory" : "not a regular file"), 0,
                     "name a recording"};
    }
    return Input{[file](std::uint64_t offset, std::span<char> out) { return core::read_at(file->get(), offset, out); },
                 static_cast<std::uint64_t>(status.st_size)};
}

struct Reader::State {
    Input input;
    Header header;
    std::uint64_t at = 0;  ///< offset of the next chunk
    ChunkInfo chunk;
    Bytes payload;
    ByteReader in{std::string_view()};
    std::uint64_t number = 0;       ///< expected number of the next chunk
    std::uint64_t records = 0;      ///< in undamaged chunks so far
    std::uint64_t unpacked = 0;     ///< bytes in undamaged chunks so far
    std::uint64_t records_due = 0;  ///< expected records_before of the next chunk
    std::uint64_t last_ns = 0;
    std::uint64_t reached_ns = 0;       ///< the latest time of an event
    std::optional<std::string> damage;  ///< found since the last undamaged chunk
    mutable int err = 0;                ///< of the last read that failed, until it is reported
    bool whole = true;
    bool ended = false, reported_end = false;
    std::deque<Next> ready;

    bool stopped() const { return input.stop && input.stop(unpacked); }
    Bytes read(std::uint64_t offset, std::size_t size) const;
    std::string damaged(std::string what);
    std::optional<ChunkInfo> head_from(std::uint64_t &from) const;
    std::optional<ChunkInfo> find_chunk();
    std::optional<Bytes> whole_payload(std::uint64_t offset, ChunkKind kind) const;
    std::optional<Bytes> take_payload(const ChunkInfo &info);
    core::Status find_header(const std::string &name);
    std::optional<Missing> gap_before(const ChunkInfo &info);
    void add(event::Event event);
    void take(const RawItem &item);
    void next_in_chunk();
    void end();
};

Bytes Reader::State::read(std::uint64_t offset, std::size_t size) const {
    if (offset >= input.size) return {};
    Bytes bytes(static_cast<std::size_t>(std::min<std::uint64_t>(size, input.size - offset)), '\0');
    const std::int64_t got = input.read(offset, bytes);
    if (got < 0) err = static_cast<int>(-got);
    bytes.resize(static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
    return bytes;
}

/// Text of a Missing: the damage, with the read error if there was one.
std::string Reader::State::damaged(std::string what) {
    const int failed = std::exchange(err, 0);
    return failed == 0 ? what : fmt::format("{}: it cannot be read: {}", what, std::strerror(failed));
}

/// The next valid chunk header from offset `from` on; sets `from` to its offset.
std::optional<ChunkInfo> Reader::State::head_from(std::uint64_t &from) const {
    constexpr std::size_t kWindow = std::size_t{1} << 16;
    if (auto info = read_chunk_header(read(from, kChunkHeader))) return info;
    for (++from; from + kChunkHeader <= input.size; from += kWindow) {
        if (stopped()) return std::nullopt;
        const Bytes window = read(from, kWindow + kChunkHeader);
        for (std::size_t i = window.find(kChunkMagic); i != Bytes::npos && i < kWindow;
             i = window.find(kChunkMagic, i + 1)) {
            if (auto info = read_chunk_header(std::string_view(window).substr(i))) {
                from += i;
                return info;
            }
        }
    }
    return std::nullopt;
}

std::optional<ChunkInfo> Reader::State::find_chunk() {
    if (at + kChunkHeader > input.size) return std::nullopt;
    err = 0;
    std::uint64_t found = at;
    auto info = head_from(found);
    if (!info || found != at) damage = damaged(fmt::format("the chunk at byte {} is damaged", at));
    if (info) at = found;
    return info;
}

std::optional<Bytes> Reader::State::whole_payload(std::uint64_t offset, ChunkKind kind) const {
    const auto info = read_chunk_header(read(offset, kChunkHeader));
    if (!info || info->kind != static_cast<std::uint32_t>(kind)) return std::nullopt;
    const Bytes bytes = read(offset, kChunkHeader + info->stored);
    if (bytes.size() < kChunkHeader + info->stored) return std::nullopt;
    const std::string_view all(bytes);
    const std::string_view stored = all.substr(kChunkHeader);
    return is_whole(all.substr(0, kChunkHeader), stored) ? unpack_payload(*info, stored) : std::nullopt;
}

/// The payload of the chunk at `at`, nullopt if damaged; moves `at` behind the chunk.
std::optional<Bytes> Reader::State::take_payload(const ChunkInfo &info) {
    err = 0;
    const std::uint64_t begin = at;
    const Bytes bytes = read(begin, kChunkHeader + info.stored);
    at += kChunkHeader + info.stored;
    if (bytes.size() < kChunkHeader + info.stored) {
        damage = err != 0 ? damaged(fmt::format("the chunk at byte {} is damaged", begin))
                          : fmt::format("the file ends within the chunk at byte {}", begin);
        return std::nullopt;
    }
    const auto [header_bytes, stored] =
        std::pair(std::string_view(bytes).substr(0, kChunkHeader), std::string_view(bytes).substr(kChunkHeader));
    auto raw = is_whole(header_bytes, stored) ? unpack_payload(info, stored) : std::nullopt;
    if (!raw) damage = fmt::format("the chunk at byte {} is damaged", begin);
    return raw;
}

/// A file starts with two copies of the header.
core::Status Reader::State::find_header(const std::string &name) {
    for (int copy = 0; copy < 2; ++copy) {
        const auto info = find_chunk();
        if (!info) break;
        const auto raw = take_payload(*info);
        if (!raw || info->kind != static_cast<std::uint32_t>(ChunkKind::Header)) continue;
        auto found = read_header(*raw);
        if (!found) continue;
        header = std::move(*found);
        number = info->number + 1;
        last_ns = info->last_ns;
        return core::success();
    }
    return Error{Kind::Corrupt, fmt::format("{} is damaged: it has no readable header", name), 0,
                 "use another copy: no record can be decoded without the header"};
}

/// The part between the last undamaged chunk and this one, if any is missing.
std::optional<Missing> Reader::State::gap_before(const ChunkInfo &info) {
    if (!damage && info.number != number)
        damage = fmt::format("chunks are missing before the one at byte {}", at - kChunkHeader - info.stored);
    if (!damage) return std::nullopt;
    Missing missing{*std::exchange(damage, std::nullopt), last_ns, info.first_ns, std::nullopt};
    if (info.records_before >= records_due) missing.records = info.records_before - records_due;
    whole = false;
    return missing;
}

/// A Gap of the writer is reported as Missing, as damage is.
void Reader::State::add(event::Event event) {
    if (const auto *const gap = std::get_if<event::Gap>(&event)) {
        whole = false;
        ready.emplace_back(Missing{"the writer could not keep up", reached_ns, reached_ns, gap->records});
        return;
    }
    reached_ns = std::max(reached_ns, event::time_of(event).value_or(0));
    ready.emplace_back(std::move(event));
}

void Reader::State::take(const RawItem &item) {
    ByteReader body(item.body);
    if (auto event = read_item(item.kind, body, chunk.first_ns); event && !body.bad()) add(std::move(*event));
    if (body.bad()) in.fail();  // additions of a later version at the end of a body are ignored
}

void Reader::State::next_in_chunk() {
    constexpr std::uint32_t kLook = 4096;  // items that yield no event: less than a millisecond of work
    for (std::uint32_t items = 1; ready.empty() && !in.bad() && !in.at_end(); ++items) {
        if (items % kLook == 0 && stopped()) return;
        const RawItem item = next_raw_item(in);
        if (!in.bad()) take(item);
    }
    if (!in.bad()) return;
    in = ByteReader(std::string_view());
    whole = false;
    ready.emplace_back(
        Missing{"a chunk with a correct checksum cannot be decoded", chunk.first_ns, chunk.last_ns, std::nullopt});
}

void Reader::State::end() {
    if (std::exchange(reported_end, true)) return;
    if (ended && at >= input.size) return;
    whole = false;
    if (ended) damage = fmt::format("{} extra bytes after the end of the recording", input.size - at);
    ready.emplace_back(Missing{damage.value_or("it was not ended properly and lacks its last part"), last_ns,
                               std::nullopt, std::nullopt});
}

core::Result<Reader> Reader::open(Input input, const std::string &name) {
    auto state = std::make_unique<State>();
    state->input = std::move(input);
    if (state->input.size == 0) return Error{Kind::Corrupt, fmt::format("{} is empty", name), 0, "name a recording"};
    const Bytes head = state->read(0, kPrologue);
    if (state->err != 0) {
        return Error{Kind::Io, fmt::format("cannot read {}: {}", name, std::strerror(state->err)), state->err, ""};
    }
    const auto version = read_prologue(head);
    if (version && *version > kVersion) {
        return Error{
            Kind::BadInput,
            fmt::format("{} has format version {}; this rsslag reads versions up to {}", name, *version, kVersion), 0,
            "read it with the rsslag that wrote it, or a later version"};
    }
    if (!version && !read_chunk_header(state->read(kPrologue, kChunkHeader))) {
        const bool cut = kMagic.starts_with(std::string_view(head).substr(0, kMagic.size()));
        return Error{Kind::Corrupt,
                     fmt::format("{} {}", name, cut ? "is cut off or damaged at its start" : "is not a recording"), 0,
                     "name a file written by rsslag record or live --record"};
    }
    state->at = kPrologue;
    if (const core::Status found = state->find_header(name); !found) return found.error();
    if (!version) state->damage = "its first 16 bytes are damaged";
    if (version) state->header.version = *version;
    if (state->header.version != kVersion) return wrong_version(name, state->header.version);
    state->reached_ns = state->header.start_ns;
    return Reader(std::move(state));
}

Reader::Reader(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reader::~Reader() = default;
Reader::Reader(Reader &&) noexcept = default;
Reader &Reader::operator=(Reader &&) noexcept = default;

const Header &Reader::header() const {
    return state_->header;
}

std::vector<Position> Reader::positions() const {
    std::vector<Position> positions;
    std::uint64_t offset = kPrologue;
    while (const auto info = state_->stopped() ? std::nullopt : state_->head_from(offset)) {
        if (info->kind == static_cast<std::uint32_t>(ChunkKind::Items))
            positions.push_back({offset, info->number, info->first_ns, info->last_ns, info->records_before});
        offset += kChunkHeader + info->stored;
    }
    return positions;
}

/// The end chunk gives the offset of the index. The peak follows the positions of the chunks there.
std::optional<PeakLag> Reader::peak() const {
    const State &state = *state_;
    constexpr std::size_t kMostEnd = kChunkHeader + 20;
    const std::uint64_t from = state.input.size - std::min<std::uint64_t>(state.input.size, kMostEnd);
    const std::size_t magic = state.read(from, kMostEnd).rfind(kChunkMagic);
    const auto end = magic == Bytes::npos ? std::nullopt : state.whole_payload(from + magic, ChunkKind::End);
    if (!end) return std::nullopt;
    const auto index = state.whole_payload(ByteReader(*end).number(), ChunkKind::Index);
    if (!index) return std::nullopt;
    ByteReader in(*index);
    constexpr int kNumbers = 4;
    const std::uint64_t chunks = in.number();
    if (chunks > in.left()) return std::nullopt;
    for (std::uint64_t left = chunks * kNumbers; left > 0 && !in.bad(); --left)
        in.number();
    if (in.bad() || in.at_end() || !in.yes()) return std::nullopt;
    PeakLag peak;
    peak.t_ns = in.number();
    peak.pid = in.small();
    peak.lag = core::Pages{in.signed_number()};
    return in.bad() ? std::nullopt : std::optional(peak);
}

void Reader::seek(const Position &position) {
    State &state = *state_;
    state.at = position.offset;
    state.number = position.number;
    state.records_due = position.records_before;
    state.last_ns = position.first_ns;
    state.in = ByteReader(std::string_view());
    state.ready.clear();
    state.damage.reset();
    state.whole = state.ended = state.reported_end = false;
}

std::optional<Reader::Next> Reader::next() {
    State &state = *state_;
    while (state.ready.empty()) {
        state.next_in_chunk();
        if (!state.ready.empty()) break;
        const auto info = state.ended || state.stopped() ? std::nullopt : state.find_chunk();
        if (!info) {
            state.end();
            break;
        }
        state.payload = Bytes();  // frees it before the next one is allocated
        state.in = ByteReader(std::string_view());
        auto raw = state.take_payload(*info);
        if (!raw) continue;
        state.unpacked += raw->size();
        auto gap = state.gap_before(*info);
        state.number = info->number + 1;
        state.records_due = info->records_before + info->records;
        state.last_ns = info->last_ns;
        state.ended = info->kind == static_cast<std::uint32_t>(ChunkKind::End);
        if (info->kind == static_cast<std::uint32_t>(ChunkKind::Items)) {
            state.chunk = *info;
            state.payload = std::move(*raw);
            state.in = ByteReader(state.payload);
            state.records += info->records;
        }
        if (!gap) continue;
        state.ready.emplace_back(std::move(*gap));
    }
    if (state.ready.empty()) return std::nullopt;
    std::optional<Next> first(std::move(state.ready.front()));
    state.ready.pop_front();
    return first;
}

bool Reader::complete() const {
    return state_->whole && state_->reported_end;
}

std::uint64_t Reader::unpacked() const {
    return state_->unpacked;
}

std::uint64_t Reader::records() const {
    return state_->records;
}

}  // namespace rsslag::recording
