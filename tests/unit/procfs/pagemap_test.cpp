// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/pagemap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rsslag::procfs::pagemap_test {
namespace {

using core::Kilobytes;
using core::Pages;

constexpr std::uint64_t kPresent = 1ULL << 63, kSwap = 1ULL << 62, kExclusive = 1ULL << 56, kGuard = 1ULL << 58;
constexpr std::uint64_t kZero = 1ULL << 24, kKsm = 1ULL << 21, kThp = 1ULL << 22;
const core::PageSize kPageSize{4096};

PageCounts counted(std::initializer_list<std::pair<std::uint64_t, std::optional<Frame>>> pages,
                   bool uncounted = false) {
    PageCounts counts;
    for (const auto &[bits, frame] : pages)
        count_page(counts, {bits}, frame, uncounted, kPageSize);
    return counts;
}

TEST(CountPage, WithFramesCountsWhoSharesAPage) {
    const PageCounts counts = counted({{kPresent | 5, Frame{1, 0}},
                                       {kPresent | 6, Frame{3, 0}},
                                       {kPresent | 7, Frame{3, kKsm}},
                                       {kPresent | 8, Frame{0, kThp}},
                                       {kPresent | 9, Frame{0, kZero}}});
    EXPECT_EQ(counts.present, Pages{4});
    EXPECT_EQ(counts.exclusive, Pages{2});
    EXPECT_EQ(counts.shared, Pages{2});
    EXPECT_EQ(counts.zero, Pages{1});
    EXPECT_EQ(counts.ksm, Pages{1});
    EXPECT_EQ(counts.large, Pages{1});
    EXPECT_FALSE(counts.huge) << "a large folio may be mapped by base-page entries";
    EXPECT_EQ(counts.mapped, (std::map<std::uint64_t, Pages>{{3, Pages{2}}}));
    // 2 × 4 kB + 2 × 4/3 kB
    EXPECT_EQ(counts.pss(), Kilobytes{10});
}

TEST(HugePages, AreWhatSmapsSaysThatThePmdMaps) {
    Mapping mapping;
    EXPECT_FALSE(huge_pages(mapping, kPageSize));
    mapping.fields.anon_huge_pages = Kilobytes{2048};
    mapping.fields.shmem_pmd_mapped = Kilobytes{0};
    mapping.fields.file_pmd_mapped = Kilobytes{4096};
    EXPECT_EQ(huge_pages(mapping, kPageSize), Pages{1536});
}

TEST(CountPage, WithoutFramesTakesTheEntrysWord) {
    const PageCounts counts =
        counted({{kPresent | kExclusive, {}}, {kPresent, {}}, {kSwap | 77, {}}, {kSwap | kGuard, {}}});
    EXPECT_EQ(counts.present, Pages{2});
    EXPECT_EQ(counts.exclusive, Pages{1});
    EXPECT_EQ(counts.shared, Pages{1});
    EXPECT_EQ(counts.swapped, Pages{1}) << "a guard marker does not count as swap";
    EXPECT_FALSE(counts.pss());
    EXPECT_FALSE(counts.zero);
}

TEST(CountPage, CountsNoMarkerAsSwap) {
    // As 6.18 shows them to root: UFFDIO_POISON, write-protected by userfaultfd, two pages in swap.
    const PageCounts counts = counted({{0x400000000000005f, {}},
                                       {0x420000000000003f, {}},
                                       {kSwap | 77 << 5 | 22, {}},
                                       {kSwap | 77 << 5 | 21, {}},
                                       {kSwap | 77 << 5, {}}});
    EXPECT_EQ(counts.swapped, Pages{2});
    EXPECT_EQ(counts.present, Pages{0});
}

TEST(CountPage, SetsApartWhatRssDoesNotCount) {
    const PageCounts counts = counted({{kPresent | 5, Frame{1, 0}}, {0, {}}}, true);
    EXPECT_EQ(counts.apart, Pages{1});
    EXPECT_EQ(counts.present, Pages{0});
}

TEST(PageCounts, AddUp) {
    PageCounts sum = counted({{kPresent | 5, Frame{2, 0}}});
    sum += counted({{kPresent | 5, Frame{2, 0}}, {kPresent | 5, Frame{1, 0}}});
    EXPECT_EQ(sum.present, sum.exclusive + sum.shared);
    EXPECT_EQ(sum.mapped.at(2), Pages{2});
    EXPECT_EQ(sum.pss(), Kilobytes{8});
}

TEST(PageReader, SeesTheTouchedPagesOfThisProcess) {
    const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void *const at = mmap(nullptr, 64 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    madvise(at, 64 * page_bytes, MADV_NOHUGEPAGE);
    for (std::size_t page = 0; page < 64; page += 2)
        static_cast<volatile char *>(at)[page * page_bytes] = 1;
    const auto self = Process::open(getpid());
    ASSERT_TRUE(self.ok());
    auto reader = PageReader::open(*self, {static_cast<std::int64_t>(page_bytes)});
    ASSERT_TRUE(reader.ok()) << reader.error().what;
    Mapping mapping;
    mapping.start = reinterpret_cast<std::uintptr_t>(at);
    mapping.end = mapping.start + 64 * page_bytes;
    PageCounts counts;
    PageBudget budget;
    const auto stop = reader->count(mapping, budget, counts);
    ASSERT_TRUE(stop.ok()) << stop.error().what;
    EXPECT_EQ(*stop, PageStop::Done);
    EXPECT_EQ(counts.exclusive, Pages{32});
    PageBudget none;
    none.entries_left = 0;
    EXPECT_EQ(*reader->count(mapping, none, counts), PageStop::Limit);
    PageBudget interrupted;
    interrupted.go_on = [] { return false; };
    EXPECT_EQ(*reader->count(mapping, interrupted, counts), PageStop::Interrupted);
    munmap(at, 64 * page_bytes);
}

}  // namespace
}  // namespace rsslag::procfs::pagemap_test
