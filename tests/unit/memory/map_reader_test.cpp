// SPDX-License-Identifier: BSD-2-Clause
// The reader of mappings for this test's own process, with made-up counters.
#include "memory/map_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "memory/page_counter.h"

namespace rsslag::memory {
namespace {

using core::Kind;
using core::Verdict;

/// Private memory of this process whose first pages are touched.
class Region {
  public:
    Region(std::size_t pages, std::size_t touched)
        : bytes_(pages * page()),
          start_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        madvise(start_, bytes_, MADV_NOHUGEPAGE);  // also keeps it apart from its neighbours
        std::memset(start_, 1, touched * page());
    }
    ~Region() { munmap(start_, bytes_); }
    Region(const Region &) = delete;
    Region &operator=(const Region &) = delete;

    static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
    std::uint64_t start() const { return reinterpret_cast<std::uint64_t>(start_); }

  private:
    std::size_t bytes_;
    void *start_;
};

core::ProcessReading reading_with(Verdict verdict) {
    core::ProcessReading reading;
    reading.verdict.verdict = verdict;
    return reading;
}

class MapReaderTest : public testing::Test {
  protected:
    void SetUp() override {
        auto process = procfs::Process::open(getpid());
        ASSERT_TRUE(process);
        process_.emplace(std::move(*process));
        auto reader = MapReader::open();
        ASSERT_TRUE(reader);
        reader_.emplace(std::move(*reader));
    }
    /// Counters that lead to these verdicts, one after another. Counts the walks.
    void count(std::vector<Verdict> verdicts) {
        reader_->count_with([this, verdicts](const procfs::Process &, const procfs::WalkHere &walk) {
            const auto walked = walk();
            EXPECT_TRUE(walked);
            const Verdict verdict = verdicts.at(std::min(walks_, verdicts.size() - 1));
            ++walks_;
            return core::Result<core::ProcessReading>(reading_with(verdict));
        });
    }

    std::optional<procfs::Process> process_;
    std::optional<MapReader> reader_;
    std::size_t walks_ = 0;
};

TEST_F(MapReaderTest, ReadsMappingsWithoutCounters) {
    const Region region(8, 5);
    reader_->no_counters("no tracer here");
    const auto mapped = reader_->read(*process_);
    ASSERT_TRUE(mapped) << mapped.error().what;
    EXPECT_EQ(mapped->pid, getpid());
    EXPECT_EQ(mapped->why_not_exact, "no tracer here");
    EXPECT_FALSE(mapped->reading);
    const auto found = std::ranges::find(mapped->mappings, region.start(), &procfs::Mapping::start);
    ASSERT_NE(found, mapped->mappings.end());
    EXPECT_EQ(found->fields.rss, core::PageSize{sysconf(_SC_PAGESIZE)}.kb(core::Pages{5}));
    EXPECT_EQ(mapped->sums.rss, *procfs::sum(mapped->mappings).rss);
}

TEST_F(MapReaderTest, LooksAgainAtAProcessThatJustMoved) {
    count({Verdict::Moving, Verdict::Agrees, Verdict::Moving});
    const auto mapped = reader_->read(*process_);
    ASSERT_TRUE(mapped);
    EXPECT_EQ(walks_, 2U);
    EXPECT_EQ(mapped->reading->verdict.verdict, Verdict::Agrees);
}

TEST_F(MapReaderTest, TakesOneThatNeverHoldsStillAsItIs) {
    count({Verdict::Moving});
    const auto mapped = reader_->read(*process_);
    ASSERT_TRUE(mapped);
    EXPECT_EQ(walks_, 3U);
    EXPECT_EQ(mapped->reading->verdict.verdict, Verdict::Moving);
}

TEST_F(MapReaderTest, DoesNotWalkTwiceWhereCountersFailAfterTheWalk) {
    reader_->count_with([this](const procfs::Process &, const procfs::WalkHere &walk) {
        EXPECT_TRUE(walk());
        ++walks_;
        return core::Result<core::ProcessReading>(core::Error{Kind::Denied, "refused", 0, "be root"});
    });
    const auto mapped = reader_->read(*process_);
    ASSERT_TRUE(mapped);
    EXPECT_EQ(walks_, 1U);
    EXPECT_EQ(mapped->why_not_exact, "refused; be root");
    EXPECT_FALSE(mapped->mappings.empty());
}

TEST_F(MapReaderTest, WalksItselfWhereCountersFailBeforeIt) {
    reader_->count_with([](const procfs::Process &, const procfs::WalkHere &) {
        return core::Result<core::ProcessReading>(core::Error{Kind::Denied, "refused", 0, ""});
    });
    const auto mapped = reader_->read(*process_);
    ASSERT_TRUE(mapped);
    EXPECT_EQ(mapped->why_not_exact, "refused");
    EXPECT_FALSE(mapped->mappings.empty());
}

TEST_F(MapReaderTest, TakesNoDeviceFileForAFileOfTmpfs) {
    const std::size_t bytes = Region::page();
    const int zero = open("/dev/zero", O_RDWR | O_CLOEXEC);
    ASSERT_GE(zero, 0);
    void *const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
    close(zero);
    ASSERT_NE(at, MAP_FAILED);
    const auto mapped = reader_->read(*process_);
    munmap(at, bytes);
    ASSERT_TRUE(mapped);
    const auto group = std::ranges::find(mapped->groups, "/dev/zero", &procfs::MapGroup::name);
    ASSERT_NE(group, mapped->groups.end());
    EXPECT_EQ(group->backing, procfs::Backing::File);
}

TEST_F(MapReaderTest, CountsThePagesThatAreThere) {
    const Region region(8, 5);
    const auto mapped = reader_->read(*process_);
    ASSERT_TRUE(mapped);
    const auto pages = count_pages(*process_, *mapped, UINT64_MAX, [] { return false; });
    ASSERT_TRUE(pages) << pages.error().what;
    const auto row = std::ranges::find(pages->rows, region.start(), &PagesRow::start);
    ASSERT_NE(row, pages->rows.end());
    EXPECT_EQ(row->counts.present, core::Pages{5});
    EXPECT_TRUE(row->agrees);
    core::Pages present;
    for (const PagesRow &each : pages->rows)
        present += each.counts.present;
    EXPECT_EQ(pages->total().present, present);
}

TEST_F(MapReaderTest, SaysWhatWasNotCountedOnceItIsStopped) {
    const auto mapped = reader_->read(*process_);
    ASSERT_TRUE(mapped);
    const auto pages = count_pages(*process_, *mapped, UINT64_MAX, [] { return true; });
    ASSERT_TRUE(pages) << pages.error().what;
    ASSERT_FALSE(pages->omitted.empty());
    EXPECT_EQ(pages->omitted.front().reason, "interrupted");
}

TEST_F(MapReaderTest, FindsItsOwnCodeInItsElfFile) {
    const auto mapped = reader_->read(*process_);
    ASSERT_TRUE(mapped);
    const auto elf = count_elf_pages(*process_, *mapped, "memory_test", [] { return false; });
    ASSERT_TRUE(elf) << elf.error().what;
    ASSERT_FALSE(elf->reason) << *elf->reason;
    const auto text = std::ranges::find_if(elf->sections, [](const auto &each) { return each.part.name == ".text"; });
    ASSERT_NE(text, elf->sections.end());
    EXPECT_GT(text->resident.n, 0) << "this test itself runs in it";
}

TEST_F(MapReaderTest, RefusesAnElfFileThatIsNotMapped) {
    const auto mapped = reader_->read(*process_);
    ASSERT_TRUE(mapped);
    const auto elf = count_elf_pages(*process_, *mapped, "no-such-file.so*", [] { return false; });
    ASSERT_FALSE(elf);
    EXPECT_EQ(elf.error().kind, Kind::BadInput);
}

}  // namespace
}  // namespace rsslag::memory
