// SPDX-License-Identifier: BSD-2-Clause
// Traces to record, and the result of reading them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "recording/bytes.h"
#include "recording/reader.h"
#include "rsslag/abi.h"

namespace rsslag::recording::test {

template <class Record>
void append(std::vector<std::byte> &bytes, const Record &record) {
    const auto *const begin = reinterpret_cast<const std::byte *>(&record);
    bytes.insert(bytes.end(), begin, begin + sizeof(record));
}

/// Updates of one task in a fault storm.
std::vector<std::byte> storm(int cpu, std::size_t records, std::uint64_t begin_ns);
/// One record of every kind, with every byte set to a value other than 0.
std::vector<std::byte> one_of_each();

Header header();
/// A small trace as bytes: `chunks` of records and a watermark each between header and end.
Bytes small_trace(int chunks);

Input input_of(const Bytes &bytes);

/// Everything that a reader returns.
struct Reported {
    bool opened = false;
    core::Error error;
    std::vector<std::byte> records;
    std::size_t events = 0;
    std::vector<Missing> missing;
    bool complete = false;
};
Reported read_all(const Bytes &bytes);
/// Whether the file opened and one damaged chunk of it is missing.
testing::AssertionResult misses_one_damaged_chunk(const Reported &reported);

}  // namespace rsslag::recording::test
