// SPDX-License-Identifier: BSD-2-Clause
// Calls and answers of version 1 as events; that of whole traces is tested by the shipped recordings.
#include "version1.h"

#include <gtest/gtest.h>

#include "item_codec.h"
#include "traces.h"

namespace rsslag::recording {
namespace {

// As files of version 1 have them.
enum Kind : std::uint8_t {
    Call = 1,
    Records = 2,
    Collected = 3,
    Now = 4,
    Time = 5,
    Losses = 6,
    Reading = 9,
    Cost = 11
};
enum Ask : std::uint8_t { Collect = 4, Tick = 5, Stop = 7, Summary = 8 };

class Version1Test : public testing::Test {
  protected:
    void item(Kind kind, const Bytes &body = {}) {
        ByteReader in(body);
        version1_.take(kind, in, 0, events_);
        EXPECT_FALSE(in.bad()) << int{kind};
    }
    void call(Ask ask) {
        Bytes body;
        put(body, ask);
        put_signed(body, 0);
        item(Call, body);
    }
    void now(std::uint64_t t_ns) { number(Now, static_cast<std::int64_t>(t_ns)); }
    void time(std::int64_t unix_ns) { number(Time, unix_ns); }
    void records() {
        Bytes packed;
        put_item(packed, event::Records{0, test::storm(0, 3, 1)}, 0);
        ByteReader in(packed);
        item(Records, Bytes(next_raw_item(in).body));
    }
    void losses(std::uint64_t sent) {
        Bytes body;
        put_losses(body, {sent, {}});
        item(Losses, body);
    }
    void cost() {
        Bytes body;
        put(body, 0);
        put_double(body, 1.5);
        put(body, 0);
        put_signed(body, 4);
        item(Cost, body);
    }
    /// Of a process that is gone.
    void reading(int host_tgid) {
        Bytes body;
        put_signed(body, host_tgid);
        put_signed(body, host_tgid);
        put(body, 0);
        put(body, 3);
        put_text(body, "it is gone");
        put_signed(body, 0);
        put_text(body, "");
        item(Reading, body);
    }
    template <class Event>
    std::vector<Event> all() const {
        std::vector<Event> some;
        for (const event::Event &event : events_)
            if (const auto *const each = std::get_if<Event>(&event)) some.push_back(*each);
        return some;
    }
    void begin(bool counting) {
        Header header = test::header();
        header.counting = counting;
        version1_ = Version1(header);
    }

    Version1 version1_{test::header()};
    Version1::Events events_;

  private:
    void number(Kind kind, std::int64_t value) {
        Bytes body;
        put_signed(body, value);
        item(kind, body);
    }
};

TEST_F(Version1Test, HoldsNoMoreAnswersThanATracerEverGot) {
    constexpr int kMany = 10'000'000;
    call(Collect);
    Bytes body;
    put_signed(body, 1);
    bool bad = false;
    int taken = 0;
    for (; taken < kMany && !bad; ++taken) {
        ByteReader in(body);
        version1_.take(Now, in, 0, events_);
        bad = in.bad();
    }
    EXPECT_LT(taken, kMany);
    EXPECT_GT(taken, 50'000) << "of 10^4 processes in one tick";
}

TEST_F(Version1Test, MakesACollectAWatermark) {
    call(Collect);
    now(5'000'000);
    records();
    item(Collected);
    EXPECT_TRUE(events_.empty()) << "more may come";
    call(Collect);
    ASSERT_EQ(events_.size(), 2U);
    EXPECT_EQ(all<event::Records>().size(), 1U);
    const auto marks = all<event::Watermark>();
    ASSERT_EQ(marks.size(), 1U);
    EXPECT_EQ(marks[0].until_ns, 3'000'000U);
    EXPECT_EQ(marks[0].at.t_ns, 5'000'000U);
}

TEST_F(Version1Test, GivesALastTickTheTimeThatItAskedFor) {
    call(Collect);
    now(5'000'000);
    records();
    item(Collected);
    losses(3);
    time(77);
    now(6'000'000);
    version1_.finish(events_);
    const auto marks = all<event::Watermark>();
    ASSERT_EQ(marks.size(), 1U);
    EXPECT_EQ(marks[0].until_ns, 3'000'000U);
    EXPECT_EQ(marks[0].at.t_ns, 6'000'000U);
    EXPECT_EQ(marks[0].at.unix_ns, 77);
}

TEST_F(Version1Test, TakesTheTimeOfATickFromItsFirstReading) {
    for (const bool counting : {false, true}) {
        events_.clear();
        begin(counting);
        call(Tick);
        now(5'000'000);
        item(Collected);
        cost();
        now(6'000'000);
        reading(4711);
        if (counting) {
            item(Collected);
            now(7'000'000);
        }
        item(Collected);
        losses(3);
        losses(4);  // of one that has ended meanwhile
        time(80);
        now(8'000'000);
        time(90);
        now(9'000'000);
        now(9'500'000);
        version1_.finish(events_);
        EXPECT_EQ(all<event::Reading>().size(), 1U);
        const auto ends = all<event::TickEnd>();
        ASSERT_EQ(ends.size(), 1U);
        EXPECT_EQ(ends[0].at.t_ns, 9'000'000U);
        EXPECT_EQ(ends[0].at.unix_ns, 90);
        EXPECT_EQ(ends[0].own.cpu_percent, 1.5);
        EXPECT_EQ(ends[0].until_ns, counting ? std::optional<std::uint64_t>(7'000'000) : std::nullopt);
    }
}

TEST_F(Version1Test, EndsATraceByItsLastClocks) {
    call(Stop);
    now(5'000'000);
    item(Collected);
    losses(3);
    now(6'000'000);
    call(Summary);
    time(50);
    now(7'000'000);
    time(60);
    now(8'000'000);
    cost();
    version1_.finish(events_);
    ASSERT_EQ(all<event::Stop>().size(), 1U);
    EXPECT_EQ(all<event::Stop>()[0].at.t_ns, 6'000'000U);
    ASSERT_EQ(all<event::End>().size(), 1U);
    EXPECT_EQ(all<event::End>()[0].at.t_ns, 8'000'000U);
    EXPECT_EQ(all<event::End>()[0].at.unix_ns, 60);
    EXPECT_EQ(all<event::End>()[0].own.rss.n, 4);
}

TEST_F(Version1Test, LeavesRecordsOfACallThatIsCutOffOrWithoutItsBegin) {
    call(Tick);
    now(5'000'000);
    records();
    item(Collected);
    cost();
    reading(4711);
    version1_.break_off(events_);
    EXPECT_EQ(events_.size(), 1U);
    records();
    now(6'000'000);
    reading(4711);
    EXPECT_EQ(events_.size(), 2U);
    EXPECT_EQ(all<event::Records>().size(), 2U);
    call(Collect);
    now(7'000'000);
    version1_.finish(events_);
    EXPECT_EQ(all<event::Watermark>().size(), 1U);
}

}  // namespace
}  // namespace rsslag::recording
