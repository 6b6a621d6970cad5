// SPDX-License-Identifier: BSD-2-Clause
#include "recording/reader.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "recording/assembler.h"
#include "traces.h"

namespace rsslag::recording {
namespace {

using test::input_of;
using test::read_all;
using test::Reported;
using test::small_trace;

constexpr int kChunks = 4;
constexpr std::size_t kChunkRecords = 5 * sizeof(rsslag_update);

/// Checks that the records read are whole chunks of the written records, in their order.
bool is_part(const std::vector<std::byte> &read, const std::vector<std::byte> &written) {
    if (read.size() % kChunkRecords != 0) return false;
    std::size_t at = 0;
    for (std::size_t i = 0; i < read.size(); i += kChunkRecords) {
        const auto begin = read.begin() + static_cast<std::ptrdiff_t>(i);
        while (at < written.size() &&
               !std::equal(begin, begin + kChunkRecords, written.begin() + static_cast<std::ptrdiff_t>(at)))
            at += kChunkRecords;
        if (at == written.size()) return false;
        at += kChunkRecords;
    }
    return true;
}

/// Reads like a disk with a bad sector.
TEST(Reader, DistinguishesAReadErrorFromTheEndOfTheFile) {
    const Bytes bytes = test::small_trace(4);
    const Input whole = test::input_of(bytes);
    const auto positions = Reader::open(whole, "it")->positions();
    ASSERT_GT(positions.size(), 2U);
    const std::uint64_t bad = positions[1].offset;
    const Input input{[&](std::uint64_t offset, std::span<char> out) -> std::int64_t {
                          if (offset <= bad && bad < offset + out.size()) return -EIO;
                          return whole.read(offset, out);
                      },
                      whole.size};
    auto reader = Reader::open(input, "it");
    ASSERT_TRUE(reader);
    std::vector<Missing> missing;
    while (const auto next = reader->next()) {
        if (const auto *const gap = std::get_if<Missing>(&*next)) missing.push_back(*gap);
    }
    ASSERT_FALSE(missing.empty());
    EXPECT_NE(missing[0].reason.find("it cannot be read: Input/output error"), std::string::npos) << missing[0].reason;
    EXPECT_FALSE(reader->complete());
}

TEST(Reader, DoesNotOpenWhatCannotBeRead) {
    const Input input{[](std::uint64_t /*offset*/, std::span<char> /*out*/) { return std::int64_t{-EIO}; }, 1000};
    const auto reader = Reader::open(input, "it");
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().kind, core::Kind::Io);
    EXPECT_EQ(reader.error().err, EIO);
}

/// A recording with this header.
bool opens(const Header &header) {
    Bytes bytes;
    Assembler assembler([&bytes](const Bytes &more) { bytes += more; });
    assembler.begin(header);
    assembler.end();
    return Reader::open(test::input_of(bytes), "it").ok();
}

TEST(Reader, RefusesAHeaderThatNoMachineHas) {
    Header header = test::header();
    header.machine.cpus_possible = header.machine.cpus_online = core::kMostCpus;
    EXPECT_TRUE(opens(header));
    header.machine.cpus_possible++;
    EXPECT_FALSE(opens(header)) << "CPUs";
    header = test::header();
    header.command_line.assign(kMostEntries + 1, "");
    EXPECT_FALSE(opens(header)) << "the command line has too many arguments";
    header.command_line = {std::string(std::size_t{8} << 20, 'x')};
    EXPECT_FALSE(opens(header)) << "an argument is too long";
    for (std::string Header::*name : {&Header::kernel, &Header::host, &Header::boot_id, &Header::trace_id}) {
        header = test::header();
        header.*name = std::string(64, 'x');
        EXPECT_TRUE(opens(header));
        header.*name += 'x';
        EXPECT_FALSE(opens(header)) << "the name is too long";
    }
}

TEST(Reader, ReturnsWhenAStopIsRequested) {
    Bytes bytes = small_trace(1);
    bytes.insert(bytes.size() / 2, std::size_t{1} << 20, '\0');
    Input input = test::input_of(bytes);
    int asked = 0;
    input.stop = [&asked](std::uint64_t /*unpacked*/) { return ++asked > 3; };
    auto reader = Reader::open(input, "it");
    ASSERT_TRUE(reader);
    while (reader->next()) {
    }
    EXPECT_LT(asked, 10) << "the damage has 16 pieces, and the reader must stop earlier";
    EXPECT_FALSE(reader->complete());
}

TEST(Reader, ReturnsAllThatWasWritten) {
    const Reported reported = read_all(small_trace(kChunks));
    ASSERT_TRUE(reported.opened);
    EXPECT_TRUE(reported.complete);
    EXPECT_TRUE(reported.missing.empty());
    EXPECT_EQ(reported.records.size(), kChunks * kChunkRecords);
    EXPECT_EQ(reported.events, kChunks * 2U);
}

TEST(Reader, OfAFileTruncatedAtAnyByteReturnsAllWholeChunksAndWhatIsMissing) {
    const Bytes bytes = small_trace(kChunks);
    const Reported all = read_all(bytes);
    std::size_t before = 0;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const Reported reported = read_all(bytes.substr(0, size));
        if (!reported.opened) {
            EXPECT_EQ(reported.error.kind, core::Kind::Corrupt) << size;
            EXPECT_EQ(before, 0U) << size;
            continue;
        }
        EXPECT_FALSE(reported.complete) << size;
        ASSERT_EQ(reported.missing.size(), 1U) << size;
        EXPECT_FALSE(reported.missing.front().to_ns) << size;
        EXPECT_GE(reported.records.size(), before) << size;
        EXPECT_TRUE(is_part(reported.records, all.records)) << size;
        before = reported.records.size();
    }
    EXPECT_EQ(before, all.records.size());
}

TEST(Reader, NoticesAnyFlippedBitAndReadsAllOtherChunks) {
    const Bytes bytes = small_trace(kChunks);
    const Reported all = read_all(bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        for (int bit = 0; bit < 8; ++bit) {
            Bytes flipped = bytes;
            flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
            const Reported reported = read_all(flipped);
            ASSERT_TRUE(misses_one_damaged_chunk(reported)) << i;
            EXPECT_GE(reported.records.size(), (kChunks - 1) * kChunkRecords) << i;
            EXPECT_TRUE(is_part(reported.records, all.records)) << i;
            const std::size_t missing = (all.records.size() - reported.records.size()) / sizeof(rsslag_update);
            if (missing > 0) {
                EXPECT_EQ(reported.missing.front().records, missing) << i;
            }
        }
    }
}

TEST(Reader, SkipsChunksOfAKindThatIsNotKnown) {
    Bytes bytes;
    Assembler assembler([&bytes](const Bytes &more) { bytes += more; });
    assembler.begin(test::header());
    ChunkInfo later;
    later.kind = 77;
    later.number = 2;
    bytes += make_chunk(later, "what a later version tells");
    ChunkInfo end;
    end.kind = static_cast<std::uint32_t>(ChunkKind::End);
    end.number = 3;
    bytes += make_chunk(end, "");
    const Reported reported = read_all(bytes);
    EXPECT_TRUE(reported.complete);
    EXPECT_TRUE(reported.missing.empty());
}

TEST(Reader, RefusesAnotherVersionByItsNumber) {
    for (const std::uint32_t version : {1U, kVersion + 1}) {
        const Bytes bytes = make_prologue(version) + small_trace(1).substr(kPrologue);
        const Reported reported = read_all(bytes);
        ASSERT_FALSE(reported.opened) << version;
        EXPECT_EQ(reported.error.kind, core::Kind::BadInput);
        EXPECT_NE(reported.error.what.find("format version " + std::to_string(version)), std::string::npos)
            << reported.error.what;
    }
}

TEST(Reader, RefusesWhatIsNoRecording) {
    EXPECT_EQ(read_all("").error.what, "it is empty");
    EXPECT_EQ(read_all("{\"schema\":\"rsslag.tick/2\"}\n and more").error.what, "it is not a recording");
    EXPECT_EQ(read_all(Bytes(kMagic)).error.what, "it is cut off or damaged at its start");
}

TEST(Reader, NamesChunksThatAreNotThere) {
    const Bytes bytes = small_trace(1);
    Bytes without;
    Assembler assembler([&without](const Bytes &more) {
        if (!more.starts_with(kChunkMagic) || read_chunk_header(more)->number != 3) without += more;
    });
    assembler.begin(test::header());
    for (int i = 0; i < 3; ++i) {
        assembler.add(event::Records{0, test::storm(0, 5, 1)});
        assembler.close();
    }
    assembler.end();
    const Reported reported = read_all(without);
    ASSERT_EQ(reported.missing.size(), 1U);
    EXPECT_EQ(reported.missing.front().records, 5U);
    EXPECT_EQ(reported.records.size(), 2 * kChunkRecords);
}

/// Wire records from this position on.
std::size_t records_from(Reader &reader, const Position &position) {
    reader.seek(position);
    std::size_t bytes = 0;
    while (const auto next = reader.next()) {
        EXPECT_TRUE(std::holds_alternative<event::Event>(*next));
        const auto *const event = std::get_if<event::Event>(&*next);
        const auto *const records = event != nullptr ? std::get_if<event::Records>(event) : nullptr;
        if (records != nullptr) bytes += records->bytes.size();
    }
    return bytes;
}

TEST(Reader, GoesOnAtAnyChunk) {
    const Bytes bytes = small_trace(kChunks);
    auto reader = Reader::open(input_of(bytes), "it");
    ASSERT_TRUE(reader);
    const std::vector<Position> positions = reader->positions();
    ASSERT_EQ(positions.size(), std::size_t{kChunks});
    for (std::size_t i = kChunks; i-- > 0;) {
        EXPECT_EQ(positions[i].records_before, i * 5);
        EXPECT_EQ(records_from(*reader, positions[i]), (kChunks - i) * kChunkRecords);
    }
    Bytes damaged = bytes;
    damaged[positions[1].offset] ^= 1;
    EXPECT_EQ(Reader::open(input_of(damaged), "it")->positions().size(), std::size_t{kChunks - 1});
}

TEST(Reader, ReturnsThePeakIfItIsKnown) {
    const auto with = [](const std::optional<PeakLag> &peak) {
        Bytes bytes;
        Assembler assembler([&bytes](const Bytes &more) { bytes += more; });
        assembler.begin(test::header());
        assembler.add(event::Records{0, test::storm(0, 5, 1)});
        assembler.end(peak);
        return bytes;
    };
    const auto peak_of = [](const Bytes &bytes) { return Reader::open(input_of(bytes), "it")->peak(); };
    EXPECT_FALSE(peak_of(with(std::nullopt)));
    const Bytes bytes = with(PeakLag{2'000'000'000, 4711, core::Pages{6072}});
    const auto peak = peak_of(bytes);
    ASSERT_TRUE(peak);
    EXPECT_EQ(peak->t_ns, 2'000'000'000U);
    EXPECT_EQ(peak->pid, 4711);
    EXPECT_EQ(peak->lag.n, 6072);
    for (std::size_t size = bytes.size() - 1; size > bytes.size() - 300; --size)
        EXPECT_FALSE(peak_of(bytes.substr(0, size))) << "a recording without its end has no peak";
    for (std::size_t i = bytes.size() - 300; i < bytes.size(); ++i) {
        Bytes flipped = bytes;
        flipped[i] ^= 4;
        const auto reported = peak_of(flipped);
        EXPECT_TRUE(!reported || reported->lag.n == 6072) << "a damaged peak must not be returned";
    }
}

}  // namespace
}  // namespace rsslag::recording
