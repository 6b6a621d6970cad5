// SPDX-License-Identifier: BSD-2-Clause
// Which threads get larger copies of their stacks.
#include "tracer/unwinder.h"

#include <gtest/gtest.h>

#include <cstring>

#include "rsslag/abi.h"

namespace rsslag::tracer {
namespace {

constexpr std::size_t kBp = 4, kIp = 16, kSp = 19;  ///< in rsslag_sample.registers
constexpr std::uint32_t kCopied = 2048;

/// A copy of a stack whose frame pointer is at its end, or 2 KiB above it.
RawSample sample_of(int tid, bool cut) {
    rsslag_sample sample{};
    sample.tid = tid;
    sample.ns_tgid = tid;
    sample.copied = sample.bytes = kCopied;
    sample.registers[kIp] = 0x1000;
    sample.registers[kSp] = 0x7000'0000;
    sample.registers[kBp] = cut ? 0x7000'1000 : 0;
    RawSample bytes(sizeof(sample) + kCopied);
    std::memcpy(bytes.data(), &sample, sizeof(sample));
    return bytes;
}

Unwinder::Cut cut_of(std::size_t most_bytes, std::initializer_list<RawSample> samples) {
    Unwinder::Batch batch;
    batch.samples = samples;
    return Unwinder(most_bytes).unwound(std::move(batch)).cut;
}

TEST(Unwinder, CopiesMoreIfAQuarterOfTheStacksAreCut) {
    constexpr std::size_t kMost = 1 << 20;
    EXPECT_EQ(cut_of(kMost, {sample_of(7, true), sample_of(7, false), sample_of(7, false), sample_of(8, false)}),
              (Unwinder::Cut{{7, kCopied}}));
    EXPECT_EQ(cut_of(kMost, {sample_of(7, true), sample_of(7, false), sample_of(7, false), sample_of(7, false),
                             sample_of(7, false)}),
              Unwinder::Cut{});
}

TEST(Unwinder, CopiesMoreIfThereIsSpace) {
    constexpr std::size_t kNow = 2 * (sizeof(rsslag_sample) + kCopied);  // a thread's larger copy has 8 KiB
    const auto cut = [](std::size_t most) { return cut_of(most, {sample_of(7, true), sample_of(8, true)}); };
    EXPECT_EQ(cut(kNow + 6 * kCopied).size(), 2U);
    EXPECT_EQ(cut(kNow + 6 * kCopied - 1).size(), 1U);
    EXPECT_EQ(cut(kNow + 3 * kCopied - 1).size(), 0U);
}

}  // namespace
}  // namespace rsslag::tracer
