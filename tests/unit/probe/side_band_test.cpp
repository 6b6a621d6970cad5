// SPDX-License-Identifier: BSD-2-Clause
#include "probe/side_band.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#include <cstring>
#include <string_view>

namespace rsslag::probe::side_band_test {
namespace {

using core::MappingChange;
using Bytes = std::vector<std::byte>;
using Kind = MappingChange::Kind;

template <class Number>
void put(Bytes &out, Number number) {
    const auto *const bytes = reinterpret_cast<const std::byte *>(&number);
    out.insert(out.end(), bytes, bytes + sizeof(number));
}

/// A record as the kernel writes it: header, body, and the trailing fields of sample_id_all.
Bytes record(std::uint32_t type, const Bytes &body, std::uint16_t misc = 0, std::uint64_t t_ns = 77) {
    Bytes out;
    const std::size_t size = sizeof(perf_event_header) + body.size() + 16;
    put(out, perf_event_header{type, misc, static_cast<std::uint16_t>(size)});
    out.insert(out.end(), body.begin(), body.end());
    put(out, std::uint32_t{40});
    put(out, std::uint32_t{41});
    put(out, t_ns);
    return out;
}

Bytes mmap2_body(std::uint64_t start, std::uint64_t bytes, std::uint32_t prot, std::uint32_t flags,
                 std::string_view name) {
    Bytes body;
    put(body, std::int32_t{40});
    put(body, std::int32_t{41});
    for (const std::uint64_t number :
         {start, bytes, std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}})
        put(body, number);
    put(body, prot);
    put(body, flags);
    for (const char c : name)
        put(body, c);
    do
        put(body, '\0');
    while (body.size() % 8 != 0);
    return body;
}

Bytes mapped(std::string_view name = "/lib/a.so") {
    return record(PERF_RECORD_MMAP2, mmap2_body(0x1000, 0x2000, PROT_READ | PROT_EXEC, MAP_PRIVATE, name));
}

Bytes operator+(Bytes a, const Bytes &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

TEST(SideBand, DecodesMappingsWithTheirProcess) {
    const auto changes = mapping_changes(
        mapped() + record(PERF_RECORD_MMAP2, mmap2_body(0x5000, 0x1000, PROT_READ | PROT_WRITE,
                                                        MAP_SHARED | MAP_HUGETLB | MAP_GROWSDOWN, "//anon")));
    ASSERT_EQ(changes.size(), 2U);
    EXPECT_EQ(changes[0].kind, Kind::Mapped);
    EXPECT_EQ(changes[0].pid, 40);
    EXPECT_EQ(changes[0].tid, 41);
    EXPECT_EQ(changes[0].t_ns, 77U);
    EXPECT_EQ(changes[0].range.start, 0x1000U);
    EXPECT_EQ(changes[0].range.end, 0x3000U);
    EXPECT_EQ(changes[0].range.flags, core::MappingRead | core::MappingExecute);
    EXPECT_EQ(changes[0].range.name, "/lib/a.so");
    EXPECT_EQ(changes[1].range.flags, core::MappingRead | core::MappingWrite | core::MappingShared |
                                          core::MappingGrowsDown | core::MappingHugetlb);
    EXPECT_EQ(changes[1].range.name, "") << "maps shows no name for it";
}

TEST(SideBand, DecodesTheBuildIdIfTheRecordHasOne) {
    Bytes body = mmap2_body(0x1000, 0x2000, PROT_READ, MAP_PRIVATE, "/lib/a.so");
    constexpr std::size_t kAt = 32;  // behind pid, tid, start, length and offset
    body[kAt] = std::byte{16};
    for (std::size_t i = 0; i < 20; ++i)
        body[kAt + 4 + i] = static_cast<std::byte>(0xf0 + i % 16);
    const auto changes = mapping_changes(record(PERF_RECORD_MMAP2, body, PERF_RECORD_MISC_MMAP_BUILD_ID) + mapped());
    ASSERT_EQ(changes.size(), 2U);
    EXPECT_EQ(core::hex(changes[0].build_id), "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
    EXPECT_EQ(changes[0].range.flags, core::MappingRead);
    EXPECT_EQ(changes[0].range.name, "/lib/a.so");
    EXPECT_FALSE(changes[1].build_id.known()) << "the record has device and inode in place of a build id";
    body[kAt] = std::byte{255};
    EXPECT_EQ(mapping_changes(record(PERF_RECORD_MMAP2, body, PERF_RECORD_MISC_MMAP_BUILD_ID))[0].build_id.size, 20);
}

TEST(SideBand, ReportsAnExecAndNoOtherChangeOfTheName) {
    Bytes body;
    put(body, std::int32_t{40});
    put(body, std::int32_t{41});
    put(body, std::uint64_t{0});
    EXPECT_TRUE(mapping_changes(record(PERF_RECORD_COMM, body)).empty());
    const auto changes = mapping_changes(record(PERF_RECORD_COMM, body, PERF_RECORD_MISC_COMM_EXEC));
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(changes[0].kind, Kind::Exec);
    EXPECT_EQ(changes[0].pid, 40);
}

TEST(SideBand, ReportsTheNumberOfLostRecords) {
    Bytes body;
    put(body, std::uint64_t{9});
    put(body, std::uint64_t{51});
    const auto changes = mapping_changes(mapped() + record(PERF_RECORD_LOST, body));
    ASSERT_EQ(changes.size(), 2U);
    EXPECT_EQ(changes[1].kind, Kind::Lost);
    EXPECT_EQ(changes[1].lost, 51U);
}

TEST(SideBand, PassesOverWhatItDoesNotKnow) {
    const auto changes = mapping_changes(record(PERF_RECORD_THROTTLE, Bytes(24)) + record(999, {}) + mapped());
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(changes[0].range.name, "/lib/a.so");
}

TEST(SideBand, IgnoresARecordWithATruncatedBody) {
    Bytes body = mmap2_body(0x1000, 0x2000, PROT_READ, MAP_PRIVATE, "/lib/a.so");
    for (std::size_t size = 0; size < 64; size += 8)
        EXPECT_TRUE(
            mapping_changes(record(PERF_RECORD_MMAP2, Bytes(body.begin(), body.begin() + static_cast<long>(size))))
                .empty())
            << size;
    Bytes tiny;
    put(tiny, perf_event_header{PERF_RECORD_MMAP2, 0, sizeof(perf_event_header) + 8});
    put(tiny, std::uint64_t{0});
    EXPECT_EQ(mapping_changes(tiny + mapped()).size(), 1U) << "the record after it is complete";
}

TEST(SideBand, EndsAtARecordThatIsCutShort) {
    const Bytes all = mapped() + mapped() + mapped();
    const std::size_t each = all.size() / 3;
    for (std::size_t size = 0; size <= all.size(); ++size)
        EXPECT_EQ(mapping_changes(std::span(all).first(size)).size(), size / each) << size;
}

TEST(SideBand, EndsAtASizeThatNoRecordHas) {
    for (std::uint16_t size = 0; size < sizeof(perf_event_header); ++size) {
        Bytes bad = mapped();
        put(bad, perf_event_header{PERF_RECORD_MMAP2, 0, size});
        EXPECT_EQ(mapping_changes(bad + mapped()).size(), 1U) << size;
    }
}

TEST(SideBand, TakesANameThatNothingEnds) {
    Bytes body = mmap2_body(0x1000, 0x2000, PROT_READ, MAP_PRIVATE, "/lib/a.so");
    for (std::size_t at = 64; at < body.size(); ++at)
        body[at] = std::byte{'x'};
    const auto changes = mapping_changes(record(PERF_RECORD_MMAP2, body));
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(changes[0].range.name, std::string(body.size() - 64, 'x'));
}

}  // namespace
}  // namespace rsslag::probe::side_band_test
