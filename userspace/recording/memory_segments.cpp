// SPDX-License-Identifier: BSD-2-Clause
#include "recording/memory_segments.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

#include "assembler.h"

namespace rsslag::recording {
namespace {

std::size_t full_chunk(std::size_t most_bytes) {
    constexpr std::size_t kLeast = std::size_t{4} << 10;
    constexpr std::size_t kChunks = 32;
    return std::clamp(most_bytes / kChunks, kLeast, kFullChunk);
}

Input input_of(std::shared_ptr<const Bytes> bytes) {
    const std::uint64_t size = bytes->size();
    const auto read = [kept = std::move(bytes)](std::uint64_t offset, std::span<char> out) {
        const std::size_t at = std::min<std::size_t>(offset, kept->size());
        const std::size_t got = std::min(out.size(), kept->size() - at);
        std::memcpy(out.data(), kept->data() + at, got);
        return got;
    };
    return {read, size};
}

}  // namespace

struct MemorySegments::State {
    explicit State(std::size_t most) : most_bytes(most) {}

    std::size_t most_bytes;
    std::deque<std::shared_ptr<const Bytes>> older;
    std::size_t older_bytes = 0;
    Bytes newest;
    std::optional<Assembler> assembler;  ///< of the newest segment; nullopt before the first begin()

    /// Including its ending.
    std::size_t newest_bytes() const {
        return assembler ? newest.size() + assembler->open_bytes() + assembler->most_ending_bytes() : 0;
    }
    void make_room() {
        while (!older.empty() && older_bytes + newest_bytes() > most_bytes) {
            older_bytes -= older.front()->size();
            older.pop_front();
        }
    }
};

MemorySegments::MemorySegments(std::size_t most_bytes) : state_(std::make_unique<State>(most_bytes)) {}
MemorySegments::~MemorySegments() = default;
MemorySegments::MemorySegments(MemorySegments &&) noexcept = default;
MemorySegments &MemorySegments::operator=(MemorySegments &&) noexcept = default;

void MemorySegments::begin(const Header &header) {
    State &state = *state_;
    if (state.assembler) {
        state.assembler->end();
        state.older_bytes += state.newest.size();
        state.newest.shrink_to_fit();
        state.older.push_back(std::make_shared<const Bytes>(std::move(state.newest)));
        state.newest = {};
    }
    state.assembler.emplace([&state](const Bytes &bytes) { state.newest += bytes; }, full_chunk(state.most_bytes));
    state.assembler->begin(header);
    state.make_room();
}

bool MemorySegments::add(const event::Event &event) {
    State &state = *state_;
    const auto *const records = std::get_if<event::Records>(&event);
    const std::size_t more = records == nullptr ? 0 : records->bytes.size();
    if (!state.assembler || state.newest_bytes() + more > state.most_bytes / 2) return false;
    state.assembler->add(event);
    state.make_room();
    return true;
}

bool MemorySegments::full() const {
    return !state_->assembler || state_->newest_bytes() >= state_->most_bytes / kSegmentShare;
}

std::size_t MemorySegments::bytes() const {
    return state_->older_bytes + state_->newest_bytes();
}

std::vector<Input> MemorySegments::segments() {
    State &state = *state_;
    std::vector<Input> all;
    for (const auto &bytes : state.older)
        all.push_back(input_of(bytes));
    if (!state.assembler) return all;
    state.assembler->close();
    all.push_back(input_of(std::make_shared<const Bytes>(state.newest + state.assembler->ending())));
    return all;
}

}  // namespace rsslag::recording
