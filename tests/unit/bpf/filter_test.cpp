// SPDX-License-Identifier: BSD-2-Clause
// Compiles bpf/filter.bpf.h unchanged, with a replacement for the kernel's hash maps: which processes are traced, and
// until when.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "rsslag/abi.h"

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// BPF_MAP_TYPE_HASH: each call is atomic.
class Hash {
  public:
    std::size_t most = SIZE_MAX;

    int update(u64 key, u32 value, u64 flags) {
        const std::lock_guard lock(mutex_);
        if (values_.count(key) != 0 ? flags == 1 : flags == 2) return flags == 1 ? -EEXIST : -ENOENT;
        if (values_.count(key) == 0 && values_.size() >= most) return -E2BIG;
        values_[key] = value;
        return 0;
    }
    int erase(u64 key) {
        const std::lock_guard lock(mutex_);
        return values_.erase(key) == 1 ? 0 : -ENOENT;
    }
    u32 *find(u64 key) {
        const std::lock_guard lock(mutex_);
        const auto found = values_.find(key);
        return found == values_.end() ? nullptr : &found->second;
    }
    std::size_t size() {
        const std::lock_guard lock(mutex_);
        return values_.size();
    }

  private:
    std::mutex mutex_;
    std::map<u64, u32> values_;
};

Hash &hash_of(const void *map) {
    static std::mutex mutex;
    static std::map<const void *, Hash> all;
    const std::lock_guard lock(mutex);
    return all[map];
}

template <class Key>
int bpf_map_update_elem(const void *map, const Key *key, const u32 *value, u64 flags) {
    return hash_of(map).update(*key, *value, flags);
}
template <class Key>
u32 *bpf_map_lookup_elem(const void *map, const Key *key) {
    return hash_of(map).find(*key);
}
template <class Key>
int bpf_map_delete_elem(const void *map, const Key *key) {
    return hash_of(map).erase(*key);
}

u64 bpf_ktime_get_ns() {
    return 0;
}

std::atomic<int> lost_map_full = 0;
void count_lost_map_full() {
    ++lost_map_full;
}

#define BPF_ANY 0
#define BPF_NOEXIST 1
#define BPF_EXIST 2
#define SEC(name)
#define __uint(name, value) int name
#define __type(name, value) int name
#include "filter.bpf.h"

/// Addresses of mms that share a slot of the table.
std::vector<u64> sharing(std::size_t count) {
    const u64 first = 0xffff888100000000ULL;
    std::vector<u64> addresses;
    for (u64 mm = first; addresses.size() < count; mm += 64)
        if (MM_SLOT(mm) == MM_SLOT(first)) addresses.push_back(mm);
    return addresses;
}

class Filter : public testing::Test {
  protected:
    void TearDown() override {
        for (const u64 slot : filter.mm)
            EXPECT_EQ(slot, 0U) << "no mm is traced any more";
        for (const u64 slot : filter.group)
            EXPECT_EQ(slot, 0U);
        for (const u64 slot : coarse)
            EXPECT_EQ(slot, 0U);
        EXPECT_EQ(hash_of(&mms).size(), 0U);
        EXPECT_EQ(hash_of(&groups).size(), 0U);
    }
};

/// Whether the programs emit an update that an untraced task makes to this mm.
bool emitted(u64 mm, int users) {
    const auto state = mm_state(mm);
    EXPECT_TRUE(state == NOT_TRACED || may_be_traced(mm, 0));
    return state != NOT_TRACED && still_traced(mm, state, users, false);
}

/// Checks that the mm is traced until its end, and not longer.
void end(u64 mm) {
    EXPECT_TRUE(emitted(mm, 1));
    EXPECT_TRUE(emitted(mm, 0));
    EXPECT_TRUE(emitted(mm, 0));
    EXPECT_FALSE(emitted(mm, 1)) << "the address now belongs to another mm";
    EXPECT_EQ(mm_state(mm), NOT_TRACED);
}

TEST_F(Filter, TracesAnMmToItsEndAndNotTheNextOneAtItsAddress) {
    const u64 mm = sharing(1)[0];
    EXPECT_FALSE(emitted(mm, 1));
    EXPECT_TRUE(trace_mm(mm));
    end(mm);
}

TEST_F(Filter, DistinguishesMmsThatShareASlot) {
    const auto all = sharing(9);
    for (std::size_t i = 0; i < 8; ++i)
        EXPECT_TRUE(trace_mm(all[i]));
    EXPECT_FALSE(emitted(all[8], 1));
    for (std::size_t i = 0; i < 8; ++i)
        end(all[(i * 5) % 8]);
}

TEST_F(Filter, RemovesAtItsEndAnMmThatWasTracedTwiceWhileAnotherSharedItsSlot) {
    const auto two = sharing(2);
    EXPECT_TRUE(trace_mm(two[0]));
    EXPECT_TRUE(trace_mm(two[1]));
    EXPECT_TRUE(trace_mm(two[1]));
    end(two[0]);
    EXPECT_TRUE(trace_mm(two[1]));
    end(two[1]);
}

TEST_F(Filter, LetsAnMmThatIsTornDownKeepItsPlace) {
    const auto two = sharing(2);
    EXPECT_TRUE(trace_mm(two[0]));
    EXPECT_TRUE(emitted(two[0], 0));
    EXPECT_TRUE(trace_mm(two[1]));
    EXPECT_TRUE(emitted(two[0], 0)) << "the rest of the teardown is traced, whatever task does it";
    EXPECT_FALSE(emitted(two[0], 1));
    end(two[1]);
}

TEST_F(Filter, TracesTheNextMmAtAnAddress) {
    const u64 mm = sharing(1)[0];
    EXPECT_TRUE(trace_mm(mm));
    EXPECT_TRUE(emitted(mm, 0));
    EXPECT_TRUE(trace_mm(mm));
    EXPECT_TRUE(emitted(mm, 1));
    end(mm);
}

TEST_F(Filter, ReportsAFullMap) {
    const auto two = sharing(2);
    hash_of(&mms).most = 1;
    EXPECT_TRUE(trace_mm(two[0]));
    EXPECT_FALSE(trace_mm(two[1]));
    EXPECT_TRUE(emitted(two[0], 0));
    EXPECT_EQ(lost_map_full, 1) << "the end could not be stored in the map";
    hash_of(&mms).most = SIZE_MAX;
    end(two[0]);
}

TEST_F(Filter, DistinguishesGroupsThatShareASlot) {
    const std::array<u32, 3> tgids{77, 77 + RSSLAG_GROUP_SLOTS, 77 + 2 * RSSLAG_GROUP_SLOTS};
    EXPECT_TRUE(trace_group(tgids[0]));
    EXPECT_TRUE(trace_group(tgids[1]));
    EXPECT_TRUE(trace_group(tgids[1]));
    EXPECT_FALSE(group_traced(tgids[2]));
    EXPECT_TRUE(may_be_traced(sharing(1)[0], tgids[0])) << "the group alone is traced";
    EXPECT_FALSE(may_be_traced(sharing(1)[0], tgids[0] + 1));
    untrace_group(tgids[0]);
    EXPECT_FALSE(group_traced(tgids[0]));
    EXPECT_TRUE(trace_group(tgids[1]));
    EXPECT_TRUE(group_traced(tgids[1]));
    untrace_group(tgids[1]);
    EXPECT_FALSE(group_traced(tgids[1]));
}

TEST_F(Filter, ForgetsAGroupWhenItsLeaderIsFreed) {
    EXPECT_TRUE(trace_group(7));
    leader_is_freed(7);
    EXPECT_TRUE(group_traced(7)) << "an ended group had this number, and this one runs";
    group_ends(7);
    EXPECT_TRUE(group_traced(7)) << "the exits of its other tasks may come later";
    leader_is_freed(7);
    EXPECT_FALSE(group_traced(7));
    group_ends(7);
    EXPECT_FALSE(group_traced(7));
}

TEST_F(Filter, TracesTheNextGroupWithANumberBeyondTheEndOfTheFirst) {
    EXPECT_TRUE(trace_group(7));
    group_ends(7);
    EXPECT_TRUE(trace_group(7));
    leader_is_freed(7);
    EXPECT_TRUE(group_traced(7));
    group_ends(7);
    leader_is_freed(7);
    EXPECT_FALSE(group_traced(7));
}

TEST_F(Filter, HasRoomForGroupsAfterOthersHaveEnded) {
    hash_of(&groups).most = 2;
    for (u32 tgid = 1; tgid <= 100; ++tgid) {
        EXPECT_TRUE(trace_group(tgid));
        EXPECT_TRUE(trace_group(tgid + 1000));
        EXPECT_FALSE(trace_group(tgid + 2000));
        for (const u32 ended : {tgid, tgid + 1000}) {
            group_ends(ended);
            leader_is_freed(ended);
        }
    }
    hash_of(&groups).most = SIZE_MAX;
}

/// Each CPU's own mm, all in one slot, and one mm that all CPUs trace concurrently.
TEST_F(Filter, HasOneOwnerOfEachWhateverCpusDoAtOnce) {
    constexpr std::size_t kCpus = 4;
    constexpr int kLifecycles = 2000;
    const auto all = sharing(kCpus + 1);
    std::atomic<std::size_t> there = 0;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> cpus;
    for (std::size_t cpu = 0; cpu < kCpus; ++cpu) {
        cpus.emplace_back([&, cpu] {
            ++there;
            while (there < kCpus) {
            }
            trace_mm(all[kCpus]);
            trace_group(7);
            for (int lifecycle = 0; lifecycle < kLifecycles; ++lifecycle) {
                const u64 mm = all[cpu];
                const bool right =
                    !emitted(mm, 1) && trace_mm(mm) && emitted(mm, 1) && emitted(mm, 0) && !emitted(mm, 1);
                if (!right) ++wrong;
            }
        });
    }
    for (std::thread &cpu : cpus)
        cpu.join();
    EXPECT_EQ(wrong, 0);
    end(all[kCpus]);
    untrace_group(7);
}

}  // namespace
