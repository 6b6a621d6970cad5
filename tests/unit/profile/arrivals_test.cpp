// SPDX-License-Identifier: BSD-2-Clause
#include "profile/arrivals.h"

#include <gtest/gtest.h>

#include <map>

namespace rsslag::profile {
namespace {

using core::event::AbsentPages;
using Residence = Arrivals::Residence;

constexpr std::uint64_t kMm = 0xffff'8880'0000'1000, kOther = 0xffff'8880'0000'2000, kPage = 0x7f00'0000'1000;
constexpr int kOwner = 10;

core::Sample at(std::uint64_t address, std::uint64_t mm = kMm) {
    core::Sample sample;
    sample.mm = mm;
    sample.address = address;
    sample.estimated = 1;
    sample.member = 1;
    return sample;
}

/// Notes and explains a sample, whose stack has the same number.
void come(Arrivals &arrivals, std::uint64_t number, const core::Sample &sample) {
    arrivals.note(sample, number);
    arrivals.explain(number, {{kOwner, kOwner}, number, Reason::PageFault, 64});
}

AbsentPages look(std::uint64_t before, std::vector<std::uint64_t> absent = {}, std::uint64_t mm = kMm,
                 std::uint64_t from = 0) {
    return {0, kOwner, mm, from, before, std::move(absent)};
}

std::map<std::uint64_t, Residence> all(const Arrivals &arrivals) {
    std::map<std::uint64_t, Residence> found;
    arrivals.each([&](const Arrivals::Origin &origin, Residence residence) { found[origin.stack] = residence; });
    return found;
}

TEST(Arrivals, AreResidentUnlessAbsent) {
    Arrivals arrivals;
    come(arrivals, 0, at(kPage + 8));
    come(arrivals, 1, at(kPage + 4096));
    EXPECT_FALSE(arrivals.known());
    EXPECT_EQ(all(arrivals).at(0), Residence::Unknown);
    arrivals.look(look(2, {kPage}));
    come(arrivals, 2, at(kPage + 8192));
    EXPECT_TRUE(arrivals.known());
    EXPECT_EQ(all(arrivals), (std::map<std::uint64_t, Residence>{{1, Residence::Resident}, {2, Residence::Unknown}}));
}

TEST(Arrivals, StayThatOfTheirSampleWhereTheyMove) {
    Arrivals arrivals;
    for (std::uint64_t i = 0; i < 4; ++i)
        come(arrivals, i, at(kPage + i * 4096));
    come(arrivals, 4, at(kPage + 8 * 4096));  // of an earlier mapping
    come(arrivals, 5, at(kPage + 2 * 4096));  // after the move
    const auto before = [](std::uint64_t number) { return number != 5; };
    arrivals.move({kMm, kPage, kPage + 3 * 4096, kPage + 7 * 4096}, before);
    arrivals.move({kOther, kPage, kPage + 3 * 4096, kPage + 7 * 4096}, before);
    EXPECT_EQ(arrivals.pages(kOwner).size(), 4U);
    // Where they were, nothing is left but what came later.
    arrivals.look(look(6, {kPage, kPage + 4096}));
    EXPECT_EQ(
        all(arrivals),
        (std::map<std::uint64_t, Residence>{
            {0, Residence::Resident}, {1, Residence::Resident}, {3, Residence::Resident}, {5, Residence::Resident}}));
    arrivals.look(look(6, {kPage + 7 * 4096}));
    EXPECT_EQ(all(arrivals).count(0), 0U);
    // A range that overlaps itself.
    arrivals.move({kMm, kPage + 2 * 4096, kPage + 4 * 4096, kPage + 3 * 4096}, [](std::uint64_t) { return true; });
    const auto pages = arrivals.pages(kOwner);
    EXPECT_EQ(pages.at(kPage + 3 * 4096).stack, 5U);
    EXPECT_EQ(pages.at(kPage + 4 * 4096).stack, 3U);
}

TEST(Arrivals, AreGoneIfALookAfterTheMoveFoundNothing) {
    Arrivals arrivals;
    come(arrivals, 0, at(kPage));
    come(arrivals, 1, at(kPage + 4096));
    AbsentPages before = look(2, {kPage + 9 * 4096});  // of an earlier mapping there
    before.t_ns = 100;
    AbsentPages after = look(2, {kPage + 8 * 4096});
    after.t_ns = 300;
    arrivals.look(before);
    arrivals.look(after);
    arrivals.look(look(2));
    arrivals.move({kMm, kPage, kPage + 2 * 4096, kPage + 8 * 4096, 200}, [](std::uint64_t) { return true; });
    EXPECT_EQ(all(arrivals), (std::map<std::uint64_t, Residence>{{1, Residence::Resident}}));
}

TEST(Arrivals, ThePageBelongsToTheLastWhoTouchedIt) {
    Arrivals arrivals;
    come(arrivals, 0, at(kPage));
    come(arrivals, 1, at(kPage + 100));
    arrivals.look(look(2));
    EXPECT_EQ(all(arrivals), (std::map<std::uint64_t, Residence>{{1, Residence::Resident}}));
    come(arrivals, 2, at(kPage));  // after the look
    EXPECT_EQ(all(arrivals), (std::map<std::uint64_t, Residence>{{1, Residence::Resident}, {2, Residence::Unknown}}));
    arrivals.look(look(3));
    EXPECT_EQ(all(arrivals), (std::map<std::uint64_t, Residence>{{2, Residence::Resident}}));
}

TEST(Arrivals, AWriteToAPageOfAFileLeavesThePagesAroundIt) {
    Arrivals arrivals;
    core::Sample around = at(kPage);
    around.member = 0;
    around.estimated = 16;
    come(arrivals, 0, around);
    come(arrivals, 1, at(kPage));
    arrivals.look(look(2));
    EXPECT_EQ(all(arrivals), (std::map<std::uint64_t, Residence>{{0, Residence::Resident}, {1, Residence::Resident}}));
    arrivals.look(look(2, {kPage}));
    EXPECT_TRUE(all(arrivals).empty());
}

TEST(Arrivals, APageThatCameAfterTheLookIsNotAbsent) {
    Arrivals arrivals;
    come(arrivals, 0, at(kPage));
    come(arrivals, 1, at(kPage));
    arrivals.look(look(1, {kPage}));
    EXPECT_EQ(all(arrivals), (std::map<std::uint64_t, Residence>{{1, Residence::Unknown}}));
}

TEST(Arrivals, AnExecTakesAllPages) {
    Arrivals arrivals;
    come(arrivals, 0, at(kPage));
    arrivals.look(look(1));
    come(arrivals, 1, at(kPage, kOther));
    arrivals.look(look(2, {}, kOther, 1));
    EXPECT_EQ(all(arrivals), (std::map<std::uint64_t, Residence>{{0, Residence::Gone}, {1, Residence::Resident}}));
}

TEST(Arrivals, OfAnEarlierMmAtTheAddressAreUnknown) {
    Arrivals arrivals;
    come(arrivals, 0, at(kPage));
    come(arrivals, 1, at(kPage + 4096));
    arrivals.look(look(2, {}, kMm, 1));
    EXPECT_EQ(all(arrivals), (std::map<std::uint64_t, Residence>{{0, Residence::Unknown}, {1, Residence::Resident}}));
}

TEST(Arrivals, OnlyWhatCameToRssByAFaultOwnsItsPage) {
    Arrivals arrivals;
    core::Sample went = at(kPage), swap = at(kPage);
    went.estimated = -1;
    swap.member = 2;
    for (const core::Sample &sample : {at(0), went, swap})
        come(arrivals, 0, sample);
    arrivals.look(look(1));
    EXPECT_TRUE(all(arrivals).empty());
}

TEST(Arrivals, TooManyAreUnknown) {
    Arrivals arrivals(2);
    for (std::uint64_t i = 0; i < 3; ++i)
        come(arrivals, i, at(kPage + i * 4096));
    arrivals.look(look(3));
    EXPECT_FALSE(arrivals.known());
    EXPECT_TRUE(all(arrivals).empty());
}

std::map<std::uint64_t, std::size_t> pages_of(const Arrivals &arrivals, int pid) {
    std::map<std::uint64_t, std::size_t> stacks;
    for (const auto &[address, origin] : arrivals.pages(pid))
        stacks[address] = origin.stack;
    return stacks;
}

TEST(Arrivals, ListsThePagesOfAProcessWithTheirLastSamples) {
    using Pages = std::map<std::uint64_t, std::size_t>;
    Arrivals arrivals;
    core::Sample of_file = at(kPage);
    of_file.member = 0;
    come(arrivals, 0, of_file);
    come(arrivals, 1, at(kPage + 8));  // a private copy of it
    come(arrivals, 2, at(kPage + 4096));
    come(arrivals, 3, at(kPage + 8192));
    arrivals.note(at(kPage + 12288), 4);  // its stack is lost
    EXPECT_EQ(pages_of(arrivals, kOwner), (Pages{{kPage, 1}, {kPage + 4096, 2}, {kPage + 8192, 3}}));
    arrivals.look(look(5, {kPage + 4096}));
    EXPECT_EQ(pages_of(arrivals, kOwner), (Pages{{kPage, 1}, {kPage + 8192, 3}}));
    EXPECT_EQ(pages_of(arrivals, kOwner + 1), Pages{});
}

TEST(Arrivals, ListsNoPagesOfAProgramThatAnExecHasReplaced) {
    Arrivals arrivals;
    come(arrivals, 0, at(kPage));
    come(arrivals, 1, at(kPage + 4096, kOther));
    EXPECT_EQ(pages_of(arrivals, kOwner).size(), 1U);
    EXPECT_TRUE(arrivals.pages(kOwner).contains(kPage + 4096));
    arrivals.look(look(2, {}, kOther + 4096));
    EXPECT_TRUE(arrivals.pages(kOwner).empty()) << "the third program has no samples";
    come(arrivals, 2, at(kPage, kOther + 8192));
    EXPECT_TRUE(arrivals.pages(kOwner).contains(kPage)) << "the fourth has";
}

}  // namespace
}  // namespace rsslag::profile
