// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cstring>

#include "fuzz.h"
#include "rsslag/recording/reader.h"

using rsslag::fuzz::require;
namespace recording = rsslag::recording;

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const recording::Input input{[data, size](std::uint64_t offset, std::span<char> out) {
                                     if (offset >= size) return std::size_t{0};
                                     const std::size_t got = std::min<std::size_t>(out.size(), size - offset);
                                     std::memcpy(out.data(), data + offset, got);
                                     return got;
                                 },
                                 size};
    auto reader = recording::Reader::open(input, "it");
    if (!reader) {
        require(!reader.error().what.empty());
        return 0;
    }
    const std::vector<recording::Place> places = reader->places();
    (void)reader->peak();
    bool missing = false;
    while (auto next = reader->next()) {
        if (const auto *const gap = std::get_if<recording::Missing>(&*next)) {
            require(!gap->reason.empty());
            missing = true;
        }
    }
    require(reader->complete() == !missing);
    if (places.empty()) return 0;
    reader->seek(places.back());
    while (reader->next()) {
    }
    return 0;
}
