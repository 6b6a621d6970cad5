// SPDX-License-Identifier: BSD-2-Clause
#include "lib/file_text.h"

#include <gtest/gtest.h>

#include <string>

namespace rsslag::lib {
namespace {

constexpr core::PageSize kPage{4096};
const std::string kHeader = "pid uid file anon shmem swap rss cached lag threads comm\n";

TEST(RssFile, HasALineForEachProcess) {
    const auto all = parse_rss_file(
        kHeader + "1 0 400 800 40 0 1240 100 96 1 init\n" + "7 1000 0 8 0 4 8 -4 -4 12+~ a \\\\ name \\x0a\n", kPage);
    ASSERT_TRUE(all);
    ASSERT_EQ(all->readings.size(), 2U);
    const Reading &first = all->readings[0];
    EXPECT_EQ(first.pid, 1);
    EXPECT_EQ(first.exact, (core::Members{.file = {100}, .anon = {200}, .swap = {0}, .shmem = {10}}));
    EXPECT_EQ(first.rss.n, 310);
    EXPECT_EQ(first.cached_rss, core::Pages{25});
    EXPECT_EQ(first.lag, core::Pages{24});
    EXPECT_EQ(first.cached, std::nullopt);
    EXPECT_FALSE(first.foreign || first.moved);
    const Reading &second = all->readings[1];
    EXPECT_EQ(second.threads, 12);
    EXPECT_TRUE(second.foreign && second.moved);
    EXPECT_EQ(second.comm, "a \\ name \n");
    EXPECT_EQ(second.lag, core::Pages{-1});
    EXPECT_EQ(second.swap, core::Pages{1});
}

TEST(RssFile, OneProcessIsFoundByItsWholeNumber) {
    const std::string text =
        kHeader + "11 0 4 4 4 0 12 0 0 1 eleven\n1 0 4 4 4 0 12 0 0 1 one\n111 0 4 4 4 0 12 0 0 1 more\n";
    const auto one = parse_rss_file(text, kPage, 1);
    ASSERT_TRUE(one);
    ASSERT_EQ(one->readings.size(), 1U);
    EXPECT_EQ(one->readings[0].comm, "one");
    EXPECT_TRUE(parse_rss_file(text, kPage, 2)->readings.empty());
}

TEST(RssFile, TextThatIsNoneIsRefused) {
    const std::string line = "1 0 4 4 4 0 12 0 0 1 one\n";
    for (const std::string &text :
         {std::string(), line, kHeader + "1 0 4 4 4 0 12 0 0 1 cut", kHeader + "1 0 4 4\n",
          kHeader + "x 0 4 4 4 0 12 0 0 1 one\n", kHeader + "1 0 4 4 4 0 12 0 0 +1 one\n", "pid rss\n" + line}) {
        const auto parsed = parse_rss_file(text, kPage);
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error().kind, core::Kind::Corrupt);
    }
}

const std::string kSelf =
    "pid 5\nuid 0\nfile 4\nanon 8\nshmem 0\nswap 0\nrss 12\ncached -4\nlag -4\nthreads 2\nforeign 0\nmoved 1\n";

TEST(SelfFile, HasAKeyForEachField) {
    const auto self = parse_self_file(kSelf + "new 17\ncomm x y\n", kPage);
    ASSERT_TRUE(self);
    EXPECT_EQ(self->pid, 5);
    EXPECT_EQ(self->rss.n, 3);
    EXPECT_EQ(self->cached_rss, core::Pages{-1});
    EXPECT_EQ(self->threads, 2);
    EXPECT_TRUE(self->moved);
    EXPECT_FALSE(self->foreign);
    EXPECT_EQ(self->comm, "x y");
}

TEST(SelfFile, TextThatIsNoneIsRefused) {
    EXPECT_FALSE(parse_self_file("", kPage));
    EXPECT_FALSE(parse_self_file("pid 5\nrss 12\n", kPage));
    EXPECT_FALSE(parse_self_file(kSelf + "rss many\n", kPage));
}

}  // namespace
}  // namespace rsslag::lib
