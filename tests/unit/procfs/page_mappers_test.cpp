// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/page_mappers.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

namespace rsslag::procfs {
namespace {

TEST(ParseNumaMaps, TakesTheMostOftenMappedPageOfEachMapping) {
    using Most = std::map<std::uint64_t, std::uint64_t>;
    EXPECT_EQ(parse_numa_maps("7f61cd78f000 default file=/f mapped=4096 mapmax=2 active=0 N0=4096\n"
                              "7f61ce78f000 prefer:1 anon=1 dirty=1 N0=1 kernelpagesize_kB=4\n"
                              "7f61ce790000 default file=/mapmax\\0409 mapped=1 mapmax=310\n"),
              (Most{{0x7f61cd78f000, 2}, {0x7f61ce790000, 310}}));
    EXPECT_EQ(parse_numa_maps(""), Most{});
    EXPECT_EQ(parse_numa_maps("\n mapmax=2\nx mapmax=2\n10 mapmax=\n10 mapmax=99999999999999999999\n"), Most{});
}

/// Two files of two pages, and three mappings: all of the first file, its first page, all of the second file.
class Mapped : public testing::Test {
  protected:
    void SetUp() override {
        for (const std::size_t i : {0U, 1U}) {
            std::string path = testing::TempDir() + "rsslag-mappers-XXXXXX";
            files_[i] = Fd(mkstemp(path.data()));
            ASSERT_TRUE(files_[i].open());
            names_[i] = path;
            ASSERT_EQ(ftruncate(files_[i].get(), static_cast<off_t>(2 * bytes_)), 0);
        }
        at_ = {map(0, 2), map(0, 1), map(1, 2)};
        auto process = Process::open(getpid());
        ASSERT_TRUE(process.ok());
        process_.emplace(*std::move(process));
        if (!process_->read("numa_maps")) GTEST_SKIP() << "this kernel has no /proc/PID/numa_maps (CONFIG_NUMA)";
    }
    void TearDown() override {
        for (const std::string &name : names_)
            unlink(name.c_str());
        for (const std::uint64_t at : at_)
            munmap(reinterpret_cast<void *>(at), bytes_);
    }
    std::uint64_t map(std::size_t file, std::size_t pages) const {
        void *const at = mmap(nullptr, pages * bytes_, PROT_READ, MAP_SHARED | MAP_POPULATE, files_[file].get(), 0);
        return reinterpret_cast<std::uint64_t>(at);
    }
    Mapping mapping(std::size_t which) const {
        const auto text = process_->smaps_text();
        const auto all = parse_smaps(text ? text->bytes : "");
        const auto found = std::ranges::find(*all, at_[which], &Mapping::start);
        return found == all->end() ? Mapping{} : *found;
    }

    std::size_t bytes_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::array<Fd, 2> files_;
    std::array<std::string, 2> names_;
    std::array<std::uint64_t, 3> at_{};
    std::optional<Process> process_;
};

TEST_F(Mapped, AreThoseThatHaveThePage) {
    PageMappers mappers(*process_, {static_cast<std::int64_t>(bytes_)});
    using Found = std::optional<std::set<std::uint64_t>>;
    // The mappings that find() itself made are gone, so the kernel may print them once more only while it runs.
    const auto among_ours = [&](Found found) {
        if (found) std::erase_if(*found, [&](std::uint64_t at) { return std::ranges::find(at_, at) == at_.end(); });
        return found;
    };
    EXPECT_EQ(among_ours(mappers.find(mapping(0), {0})), (Found{{at_[0], at_[1]}}));
    EXPECT_EQ(among_ours(mappers.find(mapping(1), {0})), (Found{{at_[0], at_[1]}}));
    EXPECT_EQ(among_ours(mappers.find(mapping(0), {bytes_})), (Found{{at_[0]}}));
    EXPECT_EQ(among_ours(mappers.find(mapping(1), {0, bytes_})), (Found{{at_[0], at_[1]}}));
    EXPECT_EQ(among_ours(mappers.find(mapping(2), {bytes_})), (Found{{at_[2]}}));
}

TEST_F(Mapped, AreNotKnownOfAFileThatCannotBeOpened) {
    PageMappers mappers(*process_, {static_cast<std::int64_t>(bytes_)});
    Mapping other = mapping(0);
    ++other.inode;
    EXPECT_EQ(mappers.find(other, {0}), std::nullopt);
    const Mapping first = mapping(0);
    for (int i = 0; i < 300; ++i)
        mappers.find(other, {0});
    EXPECT_EQ(mappers.find(first, {0}), std::nullopt) << "the number of calls is limited";
}

}  // namespace
}  // namespace rsslag::procfs
