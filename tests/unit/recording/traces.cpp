// SPDX-License-Identifier: BSD-2-Clause
#include "traces.h"

#include <algorithm>
#include <cstring>

#include "recording/assembler.h"

namespace rsslag::recording::test {
namespace {

template <class Record>
void append_filled(std::vector<std::byte> &bytes, int kind, int seed) {
    Record record;
    std::vector<unsigned char> filled(sizeof(record));
    for (std::size_t i = 0; i < filled.size(); ++i)
        filled[i] = static_cast<unsigned char>(static_cast<std::size_t>(seed) + 37 * i);
    std::memcpy(&record, filled.data(), sizeof(record));
    record.kind = static_cast<rsslag_u16>(kind);
    append(bytes, record);
}

}  // namespace

std::vector<std::byte> storm(int cpu, std::size_t records, std::uint64_t begin_ns) {
    std::vector<std::byte> bytes;
    rsslag_update update{};
    update.kind = RSSLAG_UPDATE;
    update.tid = 4711 + cpu;
    update.mm = 0xffff888012345600;
    update.cpu = static_cast<rsslag_u16>(cpu);
    update.member = 1;
    update.flags = RSSLAG_OF_USER_FAULT | RSSLAG_OWN;
    update.t_ns = begin_ns;
    for (std::size_t i = 0; i < records; ++i) {
        update.t_ns += 500 + (i * 7919) % 211;
        update.address = 0x7f0000000000 + i * 4096;
        update.cached = static_cast<rsslag_s32>(i % 64);
        update.count = static_cast<rsslag_s64>(i / 64 * 64);
        append(bytes, update);
    }
    return bytes;
}

std::vector<std::byte> one_of_each() {
    std::vector<std::byte> bytes;
    for (const int seed : {1, 200, 77}) {
        append_filled<rsslag_update>(bytes, RSSLAG_UPDATE, seed);
        append_filled<rsslag_fault>(bytes, RSSLAG_FAULT, seed);
        append_filled<rsslag_sum>(bytes, RSSLAG_SUM, seed);
        for (const int kind : {RSSLAG_NEWTASK, RSSLAG_SEEN, RSSLAG_RENAME, RSSLAG_EXEC, RSSLAG_EXIT})
            append_filled<rsslag_task>(bytes, kind, seed);
    }
    return bytes;
}

Header header() {
    Header header;
    header.writer = "rsslag test";
    header.kernel = "6.1.0";
    header.arch = "x86_64";
    header.host = "alpha";
    header.boot_id = "9d5b36f0-5bd0-4cd5-8a0c-3b8f6f6f2a11";
    header.trace_id = "1f0e2c55-63a1-4f0a-9f0e-0d7c2b1a5e77";
    header.command_line = {"live", "-p", "1"};
    header.machine.scheme = core::Scheme::Thread;
    header.machine.cpus_possible = 4;
    header.machine.cpus_online = 2;
    header.calibration.stat = core::Truth::Flushed;
    header.id_key = {7, 8};
    header.start_ns = 1'000'000'000;
    header.start_unix_ns = 1'700'000'000'000'000'000;
    header.before.sent = 7;
    header.before.by_cause = {{"ring_full", 2}};
    return header;
}

Bytes small_trace(int chunks) {
    Bytes bytes;
    Assembler assembler([&bytes](const Bytes &more) { bytes += more; });
    assembler.begin(header());
    std::uint64_t now = header().start_ns;
    for (int i = 0; i < chunks; ++i) {
        now += 1'000'000;
        assembler.add(event::Records{0, storm(i % 3, 5, now - 5000)});
        assembler.add(event::Watermark{now - 1000, {now, header().start_unix_ns}});
        assembler.close();
    }
    assembler.end();
    return bytes;
}

Input input_of(const Bytes &bytes) {
    return {[&bytes](std::uint64_t offset, std::span<char> out) {
                const std::size_t size =
                    std::min<std::size_t>(out.size(), bytes.size() - std::min<std::size_t>(offset, bytes.size()));
                std::memcpy(out.data(), bytes.data() + offset, size);
                return size;
            },
            bytes.size()};
}

Reported read_all(const Bytes &bytes) {
    Reported reported;
    auto reader = Reader::open(input_of(bytes), "it");
    if (!reader) {
        reported.error = reader.error();
        return reported;
    }
    reported.opened = true;
    while (auto next = reader->next()) {
        if (auto *const missing = std::get_if<Missing>(&*next)) {
            reported.missing.push_back(*missing);
            continue;
        }
        reported.events++;
        if (const auto *const records = std::get_if<event::Records>(&std::get<event::Event>(*next)))
            reported.records.insert(reported.records.end(), records->bytes.begin(), records->bytes.end());
    }
    reported.complete = reader->complete();
    return reported;
}

testing::AssertionResult misses_one_damaged_chunk(const Reported &reported) {
    if (!reported.opened) return testing::AssertionFailure() << "not opened: " << reported.error.what;
    if (reported.complete) return testing::AssertionFailure() << "complete";
    if (reported.missing.size() != 1) return testing::AssertionFailure() << reported.missing.size() << " are missing";
    const std::string &reason = reported.missing.front().reason;
    if (reason.find("damaged") == std::string::npos) return testing::AssertionFailure() << reason;
    return testing::AssertionSuccess();
}

}  // namespace rsslag::recording::test
