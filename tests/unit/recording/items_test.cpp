// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "recording/item_codec.h"
#include "recording/mapping_codec.h"
#include "traces.h"

namespace rsslag::recording {
namespace {

core::CounterReading counters() {
    core::CounterReading reading;
    reading.scheme = core::Scheme::Cpu;
    reading.mm = 0xffff888000001000;
    reading.mm_users = 3;
    reading.first.flushed.file = {-4};
    reading.first.cpus = {{1, {}}, {3, {}}};
    reading.first.cpus[1].cached.anon = {-31};
    reading.last.total_vm = 77;
    reading.last.map_count = 5;
    core::TaskReading task;
    task.tid = 3;
    task.host_tid = 4711;
    task.tgid = 1;
    task.host_tgid = 4700;
    task.comm = std::string("a\0b", 3);
    task.faults_before = 9;
    task.faults_after = 11;
    task.in_execve = true;
    reading.tasks = {task, task};
    reading.took_us = 12;
    return reading;
}

core::RawReading reading() {
    core::RawReading raw;
    raw.pid = 1;
    raw.start_ticks = 99;
    raw.uid = 1000;
    raw.comm = "storm";
    raw.threads_count = 2;
    raw.cpus_online = 3;
    raw.started_ns = 77;
    raw.readers.stat = core::Pages{5};
    raw.readers.status(core::Member::Swap) = core::Kilobytes{0};
    raw.bracket.readings = {counters(), counters()};
    raw.bracket.walk_state = core::WalkState::Done;
    raw.bracket.walk = core::Walk{core::WalkFile::Smaps, {1}, {2}, {3}, core::Kilobytes{4}, 5};
    raw.evidence.mapped = core::Pages{8};
    raw.begin_ns = 100;
    raw.end_ns = 200;
    raw.bracket_ns = 50;
    return raw;
}

/// nullopt: an unknown item, or in.bad().
std::optional<event::Event> next_event(ByteReader &in, std::uint64_t base_ns) {
    const RawItem item = next_raw_item(in);
    if (in.bad()) return std::nullopt;
    ByteReader body(item.body);
    auto event = read_item(item.kind, body, base_ns);
    if (body.bad()) in.fail();
    return body.bad() ? std::nullopt : std::move(event);
}

/// Encodes an event, decodes it and encodes it again: the bytes are the same.
void expect_kept(const event::Event &event) {
    Bytes once;
    put_item(once, event, 10);
    ByteReader in(once);
    const auto back = next_event(in, 10);
    ASSERT_TRUE(back);
    EXPECT_TRUE(in.at_end());
    EXPECT_EQ(back->index(), event.index());
    Bytes twice;
    put_item(twice, *back, 10);
    EXPECT_EQ(once, twice);
}

event::MappingChanges changes() {
    using Kind = core::MappingChange::Kind;
    const core::MappedRange library{0x7f0000001000, 0x7f0000005000, core::MappingRead, "/lib/a b\n.so"};
    const core::MappedRange high{UINT64_MAX << 13, UINT64_MAX << 12, 0x3f, ""};
    return {{{Kind::Exec, 90, 7, 7, {}, 0, 0, 0},
             {Kind::Mapped, 91, 7, 7, library, 0, 0, 0},
             {Kind::Mapped, 92, 5, 6, library, 0, 0, 0},
             {Kind::Moved, 92, 5, 5, high, 0x1000, 0x3000, 0},
             {Kind::Named, 93, 5, 5, {0x2000, 0x3000, 3, "[anon:x]"}, 0, 0, 0},
             {Kind::Lost, 80, -1, -1, {}, 0, 0, UINT64_MAX}}};
}

event::MappingListing listing() {
    return {{17,
             4711,
             {{{0x1000, 0x3000, 5, "/bin/x"}, core::Kilobytes{0}}, {{0x3000, 0x4000, 3, ""}, std::nullopt}},
             {{4712, 0x3ff0}, {-1, UINT64_MAX}}}};
}

TEST(Items, ComeBackAsTheyWere) {
    const event::Moment at{50, -7};
    const core::TimedCounters timed{counters(), 11, 12};
    const event::Faults faults{{{7, {1, 2}}, {9, {3, 4}}}};
    const core::Error gone{core::Kind::Gone, "it is gone", 3, "wait"};
    for (const event::Event &event :
         std::initializer_list<event::Event>{event::Records{2, test::one_of_each()},
                                             event::Watermark{40, at},
                                             event::Losses{12, test::header().before},
                                             faults,
                                             event::Attach{4700, timed, faults},
                                             event::ExecAwaited{4700, 1, 0xffff888000001000},
                                             event::Counters{1, timed},
                                             event::Counters{1, gone},
                                             event::Reading{4700, reading()},
                                             event::Reading{4700, gone},
                                             event::TickEnd{std::nullopt, at, {1.5, 2.5, {3}, core::Kilobytes{4}}},
                                             event::TickEnd{41, at, {0, std::nullopt, {3}}},
                                             event::Stop{at},
                                             event::End{at, {1.5, 2.5, {3}}},
                                             event::Gap{1, 2},
                                             event::FreshStart{},
                                             event::CpusFolded{13, 14},
                                             changes(),
                                             listing(),
                                             event::AtExec{timed}})
        expect_kept(event);
}

TEST(Items, BuildIdsComeBackWhereThereWereAny) {
    event::MappingChanges before = changes();
    Bytes none;
    put_mapping_changes(none, before, 0);
    event::MappingChanges result = before;
    for (const std::size_t at : {std::size_t{1}, std::size_t{2}}) {
        result.changes[at].build_id.size = at == 1 ? 20 : 16;
        result.changes[at].build_id.bytes.fill(0xab);
        std::fill(result.changes[at].build_id.bytes.begin() + result.changes[at].build_id.size,
                  result.changes[at].build_id.bytes.end(), std::uint8_t{0});
    }
    Bytes body;
    put_mapping_changes(body, result, 0);
    EXPECT_EQ(body.substr(0, none.size()), none) << "an older reader ignores the build ids and reads the rest";
    ByteReader in(body);
    const event::MappingChanges back = read_mapping_changes(in, 0);
    EXPECT_FALSE(in.bad());
    EXPECT_TRUE(in.at_end());
    for (std::size_t at = 0; at < result.changes.size(); ++at)
        EXPECT_EQ(back.changes[at].build_id, result.changes[at].build_id) << at;
    EXPECT_EQ(core::hex(back.changes[2].build_id), "abababababababababababababababab");
    ByteReader old(none);
    for (const core::MappingChange &change : read_mapping_changes(old, 0).changes)
        EXPECT_FALSE(change.build_id.known());
    for (std::size_t size = none.size() + 1; size < body.size(); ++size) {
        ByteReader cut(std::string_view(body).substr(0, size));
        read_mapping_changes(cut, 0);
        EXPECT_TRUE(cut.bad()) << size;
    }
}

TEST(Items, ABuildIdOfNoChangeOrOfTooManyBytesIsRefused) {
    event::MappingChanges result = changes();
    result.changes[1].build_id.size = 20;
    Bytes body;
    put_mapping_changes(body, result, 0);
    // … one id of 20 bytes, one place: its change, its id.
    for (const auto &[from_end, byte] : {std::pair(2, '\x07'), std::pair(1, '\x02'), std::pair(1, '\x00')}) {
        Bytes wrong = body;
        wrong[wrong.size() - static_cast<std::size_t>(from_end)] = byte;
        ByteReader in(wrong);
        const auto back = read_mapping_changes(in, 0);
        if (byte == '\x00') {
            EXPECT_FALSE(back.changes[1].build_id.known());
        } else {
            EXPECT_TRUE(in.bad()) << from_end;
        }
    }
    Bytes longer;
    put_mapping_changes(longer, changes(), 0);
    put(longer, 1);
    put_text(longer, std::string(21, 'x'));
    for (const std::uint64_t number : {1, 1, 1})
        put(longer, number);
    ByteReader in(longer);
    read_mapping_changes(in, 0);
    EXPECT_TRUE(in.bad());
}

TEST(Items, AListingFromBeforeStacksHasNone) {
    event::MappingListing before = listing();
    before.listing.stacks.clear();
    Bytes body;
    put_mapping_listing(body, before, 0);
    body.pop_back();
    ByteReader in(body);
    const event::MappingListing back = read_mapping_listing(in, 0);
    EXPECT_FALSE(in.bad());
    EXPECT_EQ(back.listing.entries.size(), 2U);
    EXPECT_TRUE(back.listing.stacks.empty());
}

TEST(Items, OldOnesHaveNoCommOfTheLeader) {
    core::TimedCounters timed{counters(), 11, 12};
    timed.counters.comm = "leader";
    const auto comm = [](const event::Event &event, std::size_t cut) {
        Bytes bytes;
        put_item(bytes, event, 10);
        ByteReader in(bytes);
        const RawItem item = next_raw_item(in);
        ByteReader body(item.body.substr(0, item.body.size() - cut));
        const auto back = read_item(item.kind, body, 10);
        EXPECT_EQ(body.bad(), cut != 0 && cut != sizeof("leader"));
        const auto *const attach = std::get_if<event::Attach>(&*back);
        return (attach != nullptr ? attach->counters : *std::get<event::Counters>(*back).reported).counters.comm;
    };
    for (const event::Event &event :
         std::initializer_list<event::Event>{event::Attach{4700, timed, {{{7, {1, 2}}}}}, event::Counters{1, timed}}) {
        EXPECT_EQ(comm(event, 0), "leader");
        EXPECT_EQ(comm(event, 1), "");
        EXPECT_EQ(comm(event, sizeof("leader")), "") << "without the comm: a length and six characters";
    }
}

bool is_refused(const event::Event &event) {
    Bytes bytes;
    put_item(bytes, event, 0);
    ByteReader in(bytes);
    return !next_event(in, 0);
}

std::optional<event::Event> after(const event::Event &event) {
    Bytes bytes;
    put_item(bytes, event, 10);
    ByteReader in(bytes);
    return next_event(in, 10);
}

TEST(Items, OfSamplesAndStacksComeBack) {
    event::Samples samples{7, {}};
    samples.samples.push_back({1'000'000, 0xffff'8880'1234'5000, 0x7f00'0000'1000, 4711, 4710, 1, 1, 512, -1});
    samples.samples.push_back({1'000'500, 0xffff'8880'1234'5000, 0, 4712, 4710, 0, 3, -64, 11});
    const auto samples_back = std::get<event::Samples>(*after(samples));
    ASSERT_EQ(samples_back.samples.size(), 2U);
    EXPECT_EQ(samples_back.first, 7U);
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(samples_back.samples[i], samples.samples[i]);

    core::BuildId id;
    id.size = 2;
    id.bytes[1] = 0xab;
    event::Stacks stacks{7, {}, {}, {1, 0}, 3};
    stacks.frames = {{"parse", "/bin/x", id, 0x1234, "x.cpp", 7, true},
                     {"main", "/bin/x", id, 0x1234, "", 0, false},
                     {"", "", {}, 0x7fff'ffff'0000}};
    stacks.stacks = {{{0, 1}, core::StackEnd::Outermost}, {{}, core::StackEnd::NoCopy}};
    const auto back = std::get<event::Stacks>(*after(stacks));
    EXPECT_EQ(back.first, 7U);
    EXPECT_EQ(back.lost, 3U);
    EXPECT_EQ(back.frames, stacks.frames);
    EXPECT_EQ(back.stacks, stacks.stacks);
    EXPECT_EQ(back.of, stacks.of);
    stacks.frames.erase(stacks.frames.begin());
    stacks.frames.push_back({"exit", "/bin/x", id, 0x1300});
    stacks.stacks[1].kernel = {1, 0};
    EXPECT_EQ(std::get<event::Stacks>(*after(stacks)).stacks, stacks.stacks) << "of the kernel";
    stacks.stacks[1].kernel.clear();
    EXPECT_EQ(std::get<event::Stacks>(*after(stacks)).frames, stacks.frames) << "without debug information";
    stacks.frames.pop_back();

    const event::AbsentPages absent{1'000'000, 4710, 0xffff'8880'1234'5000, 3, 9, {0x7f00'0000'1000, 0x7fff'0000'0000}};
    const auto absent_back = std::get<event::AbsentPages>(*after(absent));
    EXPECT_EQ(absent_back.t_ns, 1'000'000U);
    EXPECT_EQ(absent_back.pid, 4710);
    EXPECT_EQ(absent_back.mm, absent.mm);
    EXPECT_EQ(absent_back.from, 3U);
    EXPECT_EQ(absent_back.before, 9U);
    EXPECT_EQ(absent_back.pages, absent.pages);

    stacks.of = {2};
    EXPECT_TRUE(is_refused(stacks)) << "there is no such stack";
    stacks.of = {0};
    stacks.stacks[0].frames = {2};
    EXPECT_TRUE(is_refused(stacks)) << "there is no such frame";
    stacks.stacks[0].frames = std::vector<std::uint32_t>(core::kMostFrames);
    EXPECT_FALSE(is_refused(stacks));
    stacks.stacks[0].frames.push_back(0);
    EXPECT_TRUE(is_refused(stacks)) << "the stack is too deep";
    stacks.stacks[0].frames.clear();
    stacks.stacks[0].kernel = {2};
    EXPECT_TRUE(is_refused(stacks)) << "there is no such frame";
}

TEST(Items, AreRefusedWhereTheySayWhatCannotBe) {
    core::RawReading raw = reading();
    EXPECT_FALSE(is_refused(event::Reading{1, raw}));
    raw.comm = std::string(kMostName + 1, 'x');
    EXPECT_TRUE(is_refused(event::Reading{1, raw})) << "the name is too long";
    event::MappingChanges many = changes();
    many.changes[1].range.name = std::string(4097, 'x');
    EXPECT_TRUE(is_refused(many)) << "the path is longer than PATH_MAX";
    many.changes[1].range.name = std::string(4096, 'x');
    EXPECT_FALSE(is_refused(many));
    many.changes.resize(10'000, many.changes[1]);
    EXPECT_TRUE(is_refused(many)) << "each of these references takes a byte and stands for a path";
    raw = reading();
    raw.bracket.readings.back().last.flushed.anon.n = core::kMostPagesOfMm;
    EXPECT_TRUE(is_refused(event::Reading{1, raw})) << "a counter is out of range";
    raw = reading();
    raw.readers.stat = core::Pages{INT64_MIN};
    EXPECT_TRUE(is_refused(event::Reading{1, raw})) << "the pages of stat are out of range";
    raw = reading();
    raw.bracket.readings.resize(65, raw.bracket.readings[0]);
    EXPECT_TRUE(is_refused(event::Reading{1, raw})) << "the bracket has too many readings";
    EXPECT_TRUE(is_refused(event::Counters{1, core::Error{core::Kind::Gone, std::string(5000, 'x'), 0, ""}}));
    event::Faults faults;
    faults.tasks.resize(kMostEntries);
    EXPECT_FALSE(is_refused(faults));
    faults.tasks.emplace_back();
    EXPECT_TRUE(is_refused(faults));
}

TEST(Items, CountLossesOfUnknownCausesAsOther) {
    core::Losses losses;
    losses.sent = 20;
    losses.by_cause = {{"ring_full", 2}, {"\x1b]0;title\x07", 3}, {"of a later version", 4}};
    Bytes bytes;
    put_item(bytes, event::Losses{12, losses}, 0);
    ByteReader in(bytes);
    const auto back = next_event(in, 0);
    ASSERT_TRUE(back);
    const core::Losses &reported = std::get<event::Losses>(*back).counts;
    EXPECT_EQ(reported.by_cause, (std::map<std::string, std::uint64_t>{{"other", 7}, {"ring_full", 2}}));
    EXPECT_EQ(reported.lost(), losses.lost());
    EXPECT_EQ(reported.sent, 20U);
}

TEST(Items, TellErrorsInHarmlessWords) {
    Bytes bytes;
    put_item(bytes, event::Counters{1, core::Error{core::Kind::Denied, "\x1b[2J", 1, "\xe2\x80\xae\n"}}, 0);
    ByteReader in(bytes);
    const auto back = next_event(in, 0);
    ASSERT_TRUE(back);
    const core::Error &error = std::get<event::Counters>(*back).reported.error();
    EXPECT_EQ(error.what, "\\x1b[2J");
    EXPECT_EQ(error.remedy, "\\xe2\\x80\\xae\\x0a");
}

TEST(Items, KeepWhatAReadingSaid) {
    Bytes bytes;
    put_item(bytes, event::Reading{4700, reading()}, 10);
    ByteReader in(bytes);
    const auto back = next_event(in, 10);
    ASSERT_TRUE(back);
    const core::RawReading &raw = *std::get<event::Reading>(*back).reported;
    EXPECT_EQ(raw.comm, "storm");
    EXPECT_EQ(raw.readers.stat, core::Pages{5});
    EXPECT_FALSE(raw.readers.statm);
    EXPECT_EQ(raw.bracket.readings[1].tasks[1].host_tid, 4711);
    EXPECT_EQ(raw.bracket.readings[1].tasks[0].comm, std::string("a\0b", 3));
    EXPECT_EQ(raw.bracket.readings[0].first.cpus[1].cached.anon, core::Pages{-31});
    EXPECT_EQ(raw.end_ns, 200U);
    EXPECT_EQ(raw.cpus_online, 3);
    EXPECT_EQ(raw.started_ns, 77U);
}

TEST(Items, OfAKindThatIsNotKnownAreSkipped) {
    Bytes bytes;
    put(bytes, 99);
    put_text(bytes, "what a later version tells");
    put_item(bytes, event::Stop{{5, 6}}, 0);
    ByteReader in(bytes);
    EXPECT_FALSE(next_event(in, 0));
    EXPECT_FALSE(in.bad());
    const auto next = next_event(in, 0);
    ASSERT_TRUE(next);
    EXPECT_EQ(std::get<event::Stop>(*next).at.t_ns, 5U);
    EXPECT_EQ(std::get<event::Stop>(*next).at.unix_ns, 6);
}

TEST(Items, CutAnywhereAreRefused) {
    Bytes bytes;
    put_item(bytes, event::Reading{4700, reading()}, 0);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        ByteReader in(std::string_view(bytes).substr(0, size));
        EXPECT_FALSE(next_event(in, 0)) << size;
        EXPECT_TRUE(in.bad()) << size;
    }
}

TEST(Header, ComesBackAsItWas) {
    Bytes once;
    put_header(once, test::header());
    const auto back = read_header(once);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->machine.scheme, core::Scheme::Thread);
    EXPECT_EQ(back->before.by_cause.at("ring_full"), 2U);
    EXPECT_EQ(back->host, "alpha");
    EXPECT_EQ(back->boot_id, test::header().boot_id);
    EXPECT_EQ(back->trace_id, test::header().trace_id);
    EXPECT_EQ(back->id_key, test::header().id_key);
    Bytes twice;
    put_header(twice, *back);
    EXPECT_EQ(once, twice);
}

TEST(Header, HasHalfAKeyInAnOldFile) {
    Bytes all;
    put_header(all, test::header());
    Bytes old;
    for (ByteReader in(all); !in.at_end();) {
        const std::uint64_t field = in.number();
        const std::string_view body = in.text();
        constexpr std::uint64_t kIdKey = 18;
        if (field == kIdKey) continue;
        put(old, field);
        put_text(old, body);
    }
    const auto back = read_header(old);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->id_key, (core::IdKey{test::header().id_key.first, 0}));
}

TEST(Header, SkipsFieldsThatAreNotKnown) {
    Bytes bytes;
    put_header(bytes, test::header());
    put(bytes, 200);
    put_text(bytes, "later");
    EXPECT_TRUE(read_header(bytes));
}

}  // namespace
}  // namespace rsslag::recording
