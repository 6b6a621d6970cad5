// SPDX-License-Identifier: BSD-2-Clause
// Compiles bpf/updates.bpf.h unchanged, and its reader: a CPU's updates go to a buffer, its other records to a ring.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "probe/update_buffer.h"
#include "rsslag/abi.h"

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using rsslag::probe::UpdateBuffer;

constexpr u32 update_places = 7;
constexpr u32 kCpus = 2;
std::array<rsslag_update, kCpus * update_places> positions;

/// BPF_MAP_TYPE_ARRAY
rsslag_update *bpf_map_lookup_elem(const void * /*map*/, const u32 *index) {
    return *index < positions.size() ? &positions[*index] : nullptr;
}
/// Used only without buffers.
rsslag_update *reserve_update(rsslag_cpu * /*cpu*/, u64 /*size*/) {
    return nullptr;
}
void send(rsslag_update * /*record*/) {}

#define SEC(name)
#define __uint(name, value) int name
#define __type(name, value) int name
#include "updates.bpf.h"

/// The last CPU: its places do not start at 0.
constexpr u32 kCpu = kCpus - 1;

bool emit(rsslag_cpu &cpu, u64 t_ns) {
    rsslag_update *const record = next_update(&cpu, kCpu);
    if (record == nullptr) return false;
    record->t_ns = t_ns;
    record->address = ~t_ns;
    send_update(&cpu, record);
    return true;
}

UpdateBuffer buffer_of(rsslag_cpu &cpu) {
    return {cpu, std::span(positions).subspan(kCpu * update_places, update_places)};
}

std::vector<u64> times(const std::vector<std::byte> &bytes) {
    std::vector<u64> all;
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(rsslag_update)) {
        rsslag_update record;
        std::memcpy(&record, bytes.data() + at, sizeof(record));
        EXPECT_EQ(record.address, ~record.t_ns) << "the reader saw half a record";
        all.push_back(record.t_ns);
    }
    return all;
}

TEST(Updates, AreReadInOrderRoundAndRound) {
    rsslag_cpu cpu{};
    UpdateBuffer buffer = buffer_of(cpu);
    std::vector<std::byte> out;
    std::vector<u64> expected;
    for (u64 t = 1; t <= 10 * update_places; ++t) {
        EXPECT_TRUE(emit(cpu, t));
        expected.push_back(t);
        if (t % 5 != 0) continue;
        buffer.take_until(buffer.sent(), out);
        buffer.give_back();
    }
    EXPECT_EQ(times(out), expected);
    EXPECT_EQ(cpu.lost_ring, 0U);
}

TEST(Updates, ThatDoNotFitAreCountedAndTheOthersStay) {
    rsslag_cpu cpu{};
    UpdateBuffer buffer = buffer_of(cpu);
    for (u64 t = 1; t <= update_places; ++t)
        EXPECT_TRUE(emit(cpu, t));
    EXPECT_FALSE(emit(cpu, 8));
    EXPECT_FALSE(emit(cpu, 9));
    EXPECT_FALSE(emit(cpu, 10));
    EXPECT_EQ(cpu.lost_ring, 3U);
    std::vector<std::byte> out;
    buffer.take_until(buffer.sent(), out);
    EXPECT_FALSE(emit(cpu, 11)) << "the updates are still being read";
    buffer.give_back();
    EXPECT_TRUE(emit(cpu, 12));
    buffer.take_until(buffer.sent(), out);
    EXPECT_EQ(times(out), (std::vector<u64>{1, 2, 3, 4, 5, 6, 7, 12}));
    EXPECT_EQ(cpu.updates + cpu.lost_ring, 12U);
}

TEST(Updates, OfACpuThatIsNotThereAreCounted) {
    rsslag_cpu cpu{};
    EXPECT_EQ(next_update(&cpu, kCpus), nullptr);
    EXPECT_EQ(cpu.lost_ring, 1U);
    EXPECT_EQ(cpu.updates, 0U);
}

TEST(Updates, ComeBetweenTheRecordsOfTheRingWhereTheirTimesAre) {
    rsslag_cpu cpu{};
    UpdateBuffer buffer = buffer_of(cpu);
    for (const u64 t : {100, 200, 300, 400})
        EXPECT_TRUE(emit(cpu, t));
    std::vector<std::byte> out;
    buffer.take_before(100, out);
    EXPECT_TRUE(out.empty()) << "if the times are equal, the record of the ring comes first";
    buffer.take_before(300, out);
    EXPECT_EQ(times(out), (std::vector<u64>{100, 200}));
    buffer.take_before(250, out);
    buffer.take_until(1, out);
    EXPECT_EQ(times(out), (std::vector<u64>{100, 200})) << "no update is taken twice";
    buffer.take_before(1000, out);
    EXPECT_EQ(times(out), (std::vector<u64>{100, 200, 300, 400}));
}

/// A ring as libbpf reads it: records in order, each with its time.
class Ring {
  public:
    void put(u64 t_ns) {
        const std::lock_guard lock(mutex_);
        times_.push_back(t_ns);
    }
    std::optional<u64> take() {
        const std::lock_guard lock(mutex_);
        if (times_.empty()) return std::nullopt;
        const u64 first = times_.front();
        times_.pop_front();
        return first;
    }

  private:
    std::mutex mutex_;
    std::deque<u64> times_;
};

/// Reads like StreamProbe::drain(), while the CPU sends more.
TEST(Updates, AreInOneOrderWithTheRingWhileTheCpuGoesOn) {
    constexpr u64 kRecords = 300'000;
    rsslag_cpu cpu{};
    UpdateBuffer buffer = buffer_of(cpu);
    Ring ring;
    std::atomic<bool> done = false;
    u64 by_ring = 0;
    std::thread writer([&] {
        for (u64 t = 1; t <= kRecords; ++t) {
            if (t % 7 == 0 || t % 11 == 0) {
                ring.put(t);
                ++by_ring;
            } else {
                emit(cpu, t);
            }
        }
        done = true;
    });
    u64 last = 0, received = 0, wrong = 0, received_by_ring = 0;
    std::vector<std::byte> out;
    const auto check = [&](u64 t) {
        if (t <= last) ++wrong;
        last = t;
    };
    const auto check_updates = [&] {
        for (const u64 t : times(out))
            check(t), ++received;
        out.clear();
    };
    for (bool last_pass = false; !last_pass;) {
        last_pass = done;
        const u64 sent = buffer.sent();
        while (const auto t = ring.take()) {
            buffer.take_before(*t, out);
            check_updates();
            check(*t);
            ++received_by_ring;
        }
        buffer.take_until(sent, out);
        check_updates();
        buffer.give_back();
    }
    writer.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(received_by_ring, by_ring);
    EXPECT_EQ(received, cpu.updates);
    EXPECT_EQ(received + cpu.lost_ring + by_ring, kRecords);
}

}  // namespace
