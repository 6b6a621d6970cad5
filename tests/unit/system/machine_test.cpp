// SPDX-License-Identifier: BSD-2-Clause
#include "system/machine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace rsslag::system {
namespace {

TEST(CpusInList, IsTheHighestNumberPlusOne) {
    EXPECT_EQ(cpus_in_list("0"), 1);
    EXPECT_EQ(cpus_in_list("0-3"), 4);
    EXPECT_EQ(cpus_in_list("0-3,8"), 9);
    EXPECT_EQ(cpus_in_list("0,2-5,7"), 8);
    EXPECT_EQ(cpus_in_list("0-255"), 256);
}

TEST(CpusInList, EndsAtTheNewline) {
    EXPECT_EQ(cpus_in_list("0-1\n"), 2);
    EXPECT_EQ(cpus_in_list("0-1\n5"), 2);
}

TEST(CpusInList, IsZeroWhereThereIsNoList) {
    for (const char *text : {"", "\n", "abc", "x0", "0x1", "0 1", "0;1", "-", ",", "-1", "99999999999"})
        EXPECT_EQ(cpus_in_list(text), 0) << text;
}

TEST(CpusInList, ReadsNoFurtherThanItsView) {
    EXPECT_EQ(cpus_in_list(std::string_view("0-31", 3)), 4);
}

class FolioOrders : public testing::Test {
  protected:
    FolioOrders() {
        std::string name = (std::filesystem::temp_directory_path() / "folio_orders-XXXXXX").string();
        at_ = mkdtemp(name.data());
    }
    ~FolioOrders() override { std::filesystem::remove_all(at_); }
    void write(const std::string &name, const std::string &text) const {
        std::filesystem::create_directories((at_ / name).parent_path());
        std::ofstream(at_ / name) << text << '\n';
    }
    std::uint32_t orders() const { return folio_orders(at_.string(), 4096); }

    std::filesystem::path at_;
};

TEST_F(FolioOrders, AreOfSinglePagesWhereNothingElseIsPossible) {
    EXPECT_EQ(orders(), 1U) << "this kernel has no huge pages";
    write("enabled", "always madvise [never]");
    EXPECT_EQ(orders(), 1U);
}

TEST_F(FolioOrders, AreThoseOfAHugePageBeforeThereWereSizes) {
    write("enabled", "always [madvise] never");
    write("hpage_pmd_size", "2097152");
    EXPECT_EQ(orders(), 1U | 1U << 9);
}

TEST_F(FolioOrders, AreThoseOfEachSizeThatIsNotForbidden) {
    write("enabled", "always [madvise] never");
    write("hpage_pmd_size", "2097152");
    write("hugepages-2048kB/enabled", "always [inherit] madvise never");
    write("hugepages-64kB/enabled", "[always] inherit madvise never");
    write("hugepages-32kB/enabled", "always inherit madvise [never]");
    EXPECT_EQ(orders(), 1U | 1U << 4 | 1U << 9);
    write("enabled", "always madvise [never]");
    EXPECT_EQ(orders(), 1U | 1U << 4);
}

TEST(ThisHost, SaysOfItselfWhatEveryHostHas) {
    const Host host = this_host();
    EXPECT_GE(host.machine.cpus_online, 1);
    EXPECT_GE(host.machine.cpus_possible, host.machine.cpus_online);
    EXPECT_GE(host.machine.page_size.bytes, 4096);
    EXPECT_FALSE(host.kernel.empty());
    EXPECT_FALSE(host.arch.empty());
}

}  // namespace
}  // namespace rsslag::system
