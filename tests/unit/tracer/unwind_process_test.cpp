// SPDX-License-Identifier: BSD-2-Clause
#include "tracer/unwind_process.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>

#include "rsslag/abi.h"

namespace rsslag::tracer {
namespace {

namespace fs = std::filesystem;

RawSample sample_of(int tid) {
    rsslag_sample sample{};
    sample.tid = tid;
    sample.ns_tgid = tid;
    sample.registers[16] = 0x1000;  // rip; there is no code
    RawSample bytes(sizeof(sample));
    std::memcpy(bytes.data(), &sample, sizeof(sample));
    return bytes;
}

Unwinder::Batch batch() {
    Unwinder::Batch batch;
    batch.first = 7;
    batch.lost = 3;
    batch.samples = {sample_of(11), {}, sample_of(12)};
    core::MappingChange change;
    change.kind = core::MappingChange::Kind::Moved;
    change.t_ns = 5;
    change.pid = 11;
    change.range = {0x1000, 0x2000, core::MappingExecute, "/bin/x y", 0x3000, 99};
    change.old_start = 0x8000;
    change.old_end = 0x9000;
    change.build_id.size = 2;
    change.build_id.bytes[1] = 0xab;
    batch.changes = {change};
    core::MappingListing listing;
    listing.pid = 12;
    listing.entries = {{change.range, std::nullopt}};
    batch.listings = {listing};
    batch.ended = {13};
    return batch;
}

TEST(UnwindProcess, ABatchComesBack) {
    const Unwinder::Batch sent = batch();
    const recording::Bytes bytes = encoded(sent);
    const Unwinder::Batch back = batch_of(recording::ByteReader(bytes));
    EXPECT_EQ(back.first, 7U);
    EXPECT_EQ(back.lost, 3U);
    EXPECT_EQ(back.samples, sent.samples);
    ASSERT_EQ(back.changes.size(), 1U);
    EXPECT_EQ(back.changes[0].kind, core::MappingChange::Kind::Moved);
    EXPECT_EQ(back.changes[0].t_ns, 5U);
    EXPECT_EQ(back.changes[0].pid, 11);
    EXPECT_EQ(back.changes[0].old_start, 0x8000U);
    EXPECT_EQ(back.changes[0].old_end, 0x9000U);
    EXPECT_EQ(back.changes[0].build_id, sent.changes[0].build_id);
    ASSERT_EQ(back.listings.size(), 1U);
    EXPECT_EQ(back.listings[0].pid, 12);
    for (const core::MappedRange &range : {back.changes[0].range, back.listings[0].entries.at(0).range}) {
        EXPECT_EQ(range.start, 0x1000U);
        EXPECT_EQ(range.end, 0x2000U);
        EXPECT_EQ(range.flags, core::MappingExecute);
        EXPECT_EQ(range.name, "/bin/x y");
        EXPECT_EQ(range.offset, 0x3000U);
        EXPECT_EQ(range.inode, 99U);
    }
    EXPECT_EQ(back.ended, sent.ended);
}

TEST(UnwindProcess, AResultMustBeOfTheBatch) {
    const Unwinder::Batch sent = batch();
    Unwinder::Result result = Unwinder(core::SampleOptions()).unwound(sent);
    result.cut[11] = 2048;
    const auto accepted = [&] {
        const recording::Bytes bytes = encoded(result);
        return result_of(recording::ByteReader(bytes), sent);
    };
    ASSERT_TRUE(accepted());
    EXPECT_EQ(accepted()->cut, result.cut);
    ASSERT_EQ(accepted()->stacks.size(), 1U);
    EXPECT_EQ(accepted()->stacks[0].of, result.stacks.at(0).of);
    result.stacks[0].first++;
    EXPECT_FALSE(accepted());
    result.stacks[0].first--;
    result.stacks[0].of.pop_back();
    EXPECT_FALSE(accepted());
    result.stacks[0].of.push_back(99);
    EXPECT_FALSE(accepted()) << "there is no such stack";
    result.stacks[0].of.back() = 0;
    const recording::Bytes bytes = encoded(result);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(result_of(recording::ByteReader(std::string_view(bytes).substr(0, size)), sent)) << size;
}

TEST(UnwindProcess, UnwindsAsTheUnwinderDoes) {
    auto process = UnwindProcess::start(core::SampleOptions());
    ASSERT_TRUE(process);
    const Unwinder::Result result = process->unwound(batch());
    const Unwinder::Result expected = Unwinder(core::SampleOptions()).unwound(batch());
    ASSERT_EQ(result.stacks.size(), 1U);
    EXPECT_EQ(result.stacks[0].of, expected.stacks.at(0).of);
    EXPECT_EQ(result.stacks[0].stacks, expected.stacks[0].stacks);
    EXPECT_EQ(result.stacks[0].frames, expected.stacks[0].frames);
    EXPECT_EQ(process->unwound(batch()).stacks.size(), 1U) << "again";
}

TEST(UnwindProcess, HasNoDescriptorButTheConnectionAndTheSymbolsOfTheKernel) {
    auto process = UnwindProcess::start(core::SampleOptions());
    ASSERT_TRUE(process);
    process->unwound(batch());  // it answers after it has closed the others
    std::multiset<std::string> names;
    for (const auto &entry : fs::directory_iterator(fs::path("/proc") / std::to_string(process->pid()) / "fd")) {
        const std::string name = fs::read_symlink(entry.path()).string();
        names.insert(name.substr(0, name.find_first_of(":[ ")));
    }
    EXPECT_EQ(names,
              (std::multiset<std::string>{"/dev/null", "/dev/null", "/dev/null", "socket", "/memfd", "/proc/kallsyms"}))
        << "memfd: the vdso";
}

TEST(UnwindProcess, AfterItsEndAllStacksAreDropped) {
    auto process = UnwindProcess::start(core::SampleOptions());
    ASSERT_TRUE(process);
    ASSERT_EQ(kill(process->pid(), SIGSEGV), 0);
    for (int i = 0; i < 2; ++i) {
        const Unwinder::Result result = process->unwound(batch());
        ASSERT_EQ(result.stacks.size(), 1U);
        EXPECT_EQ(result.stacks[0].first, 7U);
        EXPECT_EQ(result.stacks[0].lost, 3U);
        ASSERT_EQ(result.stacks[0].of.size(), 3U);
        for (const std::uint32_t stack : result.stacks[0].of)
            EXPECT_EQ(result.stacks[0].stacks.at(stack).end, core::StackEnd::Dropped);
    }
    Unwinder::Batch empty;
    EXPECT_TRUE(process->unwound(empty).stacks.empty());
}

}  // namespace
}  // namespace rsslag::tracer
