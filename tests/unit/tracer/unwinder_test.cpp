// SPDX-License-Identifier: BSD-2-Clause
// Which threads get larger copies of their stacks.
#include "tracer/unwinder.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

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
    core::SampleOptions options;
    options.ring_bytes = 2 * most_bytes;
    return Unwinder(options).unwound(std::move(batch)).cut;
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

core::MappedRange code_at(std::uint64_t start, const char *file) {
    core::MappedRange range;
    range.start = start;
    range.end = start + 0x1000;
    range.flags = core::MappingExecute;
    range.name = file;
    return range;
}

RawSample sample_at(int pid, std::uint64_t t_ns) {
    RawSample bytes = sample_of(pid, false);
    std::memcpy(bytes.data() + offsetof(rsslag_sample, t_ns), &t_ns, sizeof(t_ns));
    return bytes;
}

/// A stack whose first page, that of the fault, is missing from the copy.
core::CallStack without_first_page(std::uint64_t frame_pointer) {
    constexpr std::uint64_t kStack = 0x7000'0800;
    constexpr std::uint32_t kAbsent = 0x800, kBytes = 0x1800;
    rsslag_sample sample{};
    sample.copied = sample.bytes = kBytes;
    sample.absent = kAbsent;
    sample.registers[kIp] = 0x1000;
    sample.registers[kSp] = kStack;
    sample.registers[kBp] = frame_pointer;
    RawSample bytes(sizeof(sample) + kBytes);
    std::memcpy(bytes.data(), &sample, sizeof(sample));
    const std::uint64_t of_caller[] = {0, 0x2000};  // frame pointer, return address
    std::memcpy(bytes.data() + sizeof(sample) + kAbsent, of_caller, sizeof(of_caller));
    Unwinder::Batch batch;
    batch.samples = {bytes};
    return Unwinder(core::SampleOptions()).unwound(std::move(batch)).stacks.at(0).stacks.at(0);
}

TEST(Unwinder, GoesOnAboveAPageThatIsNotResident) {
    const core::CallStack above = without_first_page(0x7000'1000);
    EXPECT_EQ(above.frames.size(), 2U);
    EXPECT_EQ(above.end, core::StackEnd::Outermost);
    const core::CallStack within = without_first_page(0x7000'0c00);
    EXPECT_EQ(within.frames.size(), 1U);
    EXPECT_EQ(within.end, core::StackEnd::NoCopy);
}

TEST(Unwinder, KeepsTheFramesOfTheKernelApart) {
    rsslag_sample sample{};
    RawSample bytes = sample_of(7, false);
    std::memcpy(&sample, bytes.data(), sizeof(sample));
    sample.kernel_frames = 200;  // more than there are
    sample.kernel[0] = 0xffff'ffff'8100'1000;
    std::memcpy(bytes.data(), &sample, sizeof(sample));
    Unwinder::Batch batch;
    batch.samples = {bytes, sample_of(7, false)};
    const Unwinder::Result result = Unwinder(core::SampleOptions()).unwound(std::move(batch));
    const event::Stacks &stacks = result.stacks.at(0);
    ASSERT_EQ(stacks.of, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(stacks.stacks[0].frames, stacks.stacks[1].frames);
    EXPECT_EQ(stacks.stacks[0].kernel.size(), std::size_t{RSSLAG_KERNEL_FRAMES});
    EXPECT_EQ(stacks.frames[stacks.stacks[0].kernel[0]].address, 0xffff'ffff'8100'0fff);
    EXPECT_TRUE(stacks.stacks[1].kernel.empty());
}

TEST(Unwinder, AForkHasTheCodeThatItsParentHadThen) {
    constexpr int kParent = 7, kChild = 8, kGrandchild = 9;
    Unwinder::Batch batch;
    batch.listings.push_back({0, kParent, {{code_at(0x1000, "/before"), std::nullopt}}, {}});
    const auto mapped = [](std::uint64_t t_ns, int pid, const char *file) {
        core::MappingChange change;
        change.t_ns = t_ns;
        change.pid = pid;
        change.range = code_at(0x1000, file);
        return change;
    };
    batch.changes = {mapped(20, kParent, "/of parent"), mapped(40, kChild, "/of child")};
    batch.forks = {{10, kParent, kChild}, {30, kChild, kGrandchild}};
    batch.samples = {sample_at(kChild, 15), sample_at(kParent, 25),     sample_at(kChild, 26),
                     sample_at(kChild, 45), sample_at(kGrandchild, 46), sample_at(kParent, 47)};
    const Unwinder::Result result = Unwinder(core::SampleOptions()).unwound(std::move(batch));
    ASSERT_EQ(result.stacks.size(), 1U);
    const event::Stacks &stacks = result.stacks[0];
    std::vector<std::string> files;
    for (const std::uint32_t stack : stacks.of)
        files.push_back(stacks.frames[stacks.stacks[stack].frames.at(0)].file);
    EXPECT_EQ(files,
              (std::vector<std::string>{"/before", "/of parent", "/before", "/of child", "/before", "/of parent"}));
}

}  // namespace
}  // namespace rsslag::tracer
