// SPDX-License-Identifier: BSD-2-Clause
#include "memory/map_rows.h"

#include <gtest/gtest.h>

namespace rsslag::memory {
namespace {

using core::Kilobytes;

procfs::Mapping mapping(const char *name, std::uint64_t start, std::optional<Kilobytes> rss) {
    procfs::Mapping mapping;
    mapping.name = name;
    mapping.start = start;
    mapping.end = start + 0x1000;
    mapping.fields.rss = rss;
    return mapping;
}

std::vector<std::string> names(const std::vector<procfs::Mapping> &mappings) {
    std::vector<std::string> names;
    names.reserve(mappings.size());
    for (const procfs::Mapping &each : mappings)
        names.push_back(each.name);
    return names;
}

using Names = std::vector<std::string>;

class MapRows : public testing::Test {
  protected:
    void SetUp() override {
        rows_ = {mapping("b.so", 0x1000, Kilobytes{8}), mapping("a.so", 0x2000, std::nullopt),
                 mapping("[heap]", 0x3000, Kilobytes{16}), mapping("a.so", 0x4000, Kilobytes{8})};
    }
    Names sorted_by(const std::string &word) {
        const auto order = order_named(word);
        EXPECT_TRUE(order) << word;
        sort_mappings(rows_, *order);
        return names(rows_);
    }

    std::vector<procfs::Mapping> rows_;
};

TEST_F(MapRows, StandAsSmapsHasThemUnlessAnOrderIsNamed) {
    const Names before = names(rows_);
    EXPECT_EQ(sorted_by(""), before);
    EXPECT_EQ(sorted_by("address"), before);
}

TEST_F(MapRows, OfOneNameKeepTheOrderOfAddresses) {
    EXPECT_EQ(sorted_by("NAME"), (Names{"[heap]", "a.so", "a.so", "b.so"}));
    EXPECT_LT(rows_[1].start, rows_[2].start);
}

TEST_F(MapRows, StandByAFieldLargestFirstAndThoseWithoutItLast) {
    EXPECT_EQ(sorted_by("rss"), (Names{"[heap]", "b.so", "a.so", "a.so"}));
    EXPECT_EQ(rows_.back().fields.rss, std::nullopt);
}

TEST_F(MapRows, AreFilteredWhileTheSumsStayThoseOfTheProcess) {
    MappedProcess process;
    process.mappings = rows_;
    process.sums.rss = {32};
    process.groups.resize(2);
    process.groups[0].name = "a.so";
    process.groups[1].name = "b.so";
    keep_matching(process, "");
    EXPECT_EQ(process.mappings.size(), 4U);
    keep_matching(process, "a*");
    EXPECT_EQ(names(process.mappings), (Names{"a.so", "a.so"}));
    ASSERT_EQ(process.groups.size(), 1U);
    EXPECT_EQ(process.groups[0].name, "a.so");
    EXPECT_EQ(process.sums.rss, Kilobytes{32});
}

TEST(FieldNamed, TakesAnyCaseAndNamesWhatThereIs) {
    const auto field = field_named("private_DIRTY");
    ASSERT_TRUE(field);
    EXPECT_EQ((*field)->key, "Private_Dirty");
    const auto none = field_named("Rsss");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, core::Kind::BadInput);
    EXPECT_NE(none.error().remedy.find("Rss, Pss"), std::string::npos) << none.error().remedy;
}

TEST(OrderNamed, RefusesWhatIsNoFieldWithoutItsRawBytes) {
    const auto none = order_named("\x1b[31m");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().what.find('\x1b'), std::string::npos);
    EXPECT_NE(none.error().remedy.find("address, name"), std::string::npos);
}

}  // namespace
}  // namespace rsslag::memory
