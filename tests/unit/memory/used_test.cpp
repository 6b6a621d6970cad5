// SPDX-License-Identifier: BSD-2-Clause
#include "memory/used.h"

#include <gtest/gtest.h>

#include <numeric>

namespace rsslag::memory {
namespace {

using core::Kilobytes;
using core::Pages;

procfs::MemInfo meminfo() {
    procfs::MemInfo info;
    info.total = Kilobytes{1'000'000};
    info.free = Kilobytes{300'000};
    info.buffers = Kilobytes{5'000};
    info.cached = Kilobytes{200'000};
    info.swap_cached = Kilobytes{100};
    info.anon_pages = Kilobytes{90'000};
    info.mapped = Kilobytes{60'000};
    info.shmem = Kilobytes{30'000};
    info.kernel_reclaimable = Kilobytes{41'000};
    info.slab_reclaimable = Kilobytes{40'000};
    info.slab_unreclaimable = Kilobytes{20'000};
    info.kernel_stack = Kilobytes{2'000};
    info.page_tables = Kilobytes{4'000};
    info.vmalloc_used = Kilobytes{12'000};
    info.per_cpu = Kilobytes{800};
    info.hugetlb = Kilobytes{204'800};
    return info;
}

procfs::Parts processes() {
    return {Kilobytes{85'000}, Kilobytes{40'000}, Kilobytes{10'000}, {}, {}};
}

Used of(const procfs::MemInfo &info, const MachineMemory &machine = {}) {
    return account(info, info, processes(), machine, core::PageSize{4096});
}

std::optional<Kilobytes> row(const Used &used, UsedBy by) {
    for (const UsedRow &row : used.rows) {
        if (row.by == by) return row.kb;
    }
    ADD_FAILURE() << "no row " << name(by);
    return std::nullopt;
}

Kilobytes sum(const Used &used) {
    return std::accumulate(used.rows.begin(), used.rows.end(), Kilobytes{},
                           [](Kilobytes sum, const UsedRow &row) { return sum + procfs::or_zero(row.kb); });
}

TEST(Used, AddsUpToWhatIsInUse) {
    const Used used = of(meminfo());
    EXPECT_EQ(used.in_use, Kilobytes{700'000});
    EXPECT_EQ(sum(used), Kilobytes{700'000});
    EXPECT_EQ(row(used, UsedBy::OtherAnon), Kilobytes{5'000});
    EXPECT_EQ(row(used, UsedBy::PageCache), Kilobytes{205'000 - 30'000 - 40'000}) << "Cached includes shmem";
    EXPECT_EQ(row(used, UsedBy::Shmem), Kilobytes{20'000});
    EXPECT_EQ(row(used, UsedBy::OtherReclaimable), Kilobytes{1'000}) << "slab counts once";
    EXPECT_EQ(used.mapped_by_others, Kilobytes{10'000});
}

TEST(Used, PagesOfDriversAreNotSubtractedFromThePageCache) {
    procfs::Parts parts = processes();
    parts.file = Kilobytes{10'000};
    parts.drivers = Kilobytes{30'000};
    parts.bpf_maps = Kilobytes{4'000};
    const Used used = account(meminfo(), meminfo(), parts, {}, core::PageSize{4096});
    EXPECT_EQ(row(used, UsedBy::ProcessDrivers), Kilobytes{30'000});
    EXPECT_EQ(row(used, UsedBy::PageCache), Kilobytes{205'000 - 30'000 - 10'000});
    EXPECT_EQ(row(used, UsedBy::Vmalloc), Kilobytes{12'000 - 2'000 - 4'000}) << "each BPF array counts once";
    EXPECT_EQ(used.mapped_by_others, Kilobytes{10'000}) << "Mapped includes pages of drivers";
    EXPECT_EQ(sum(used), Kilobytes{700'000});
}

TEST(Used, PartsOfHugePagesThatAreNotMappedAreOnTheListsAlone) {
    procfs::MemInfo info = meminfo();
    EXPECT_FALSE(row(of(info), UsedBy::PartlyMapped));
    info.active_anon = Kilobytes{20'000};
    info.inactive_anon = Kilobytes{140'100};
    info.unevictable = Kilobytes{3'000};
    const auto mapped_in_part = [&](std::optional<Kilobytes> most) {
        MachineMemory machine;
        machine.partly_mapped = most;
        const Used used = of(info, machine);
        EXPECT_EQ(sum(used), Kilobytes{700'000});
        return row(used, UsedBy::PartlyMapped);
    };
    // 160,100 less AnonPages 90,000, Shmem 30,000, and SwapCached 100.
    EXPECT_EQ(mapped_in_part(std::nullopt), Kilobytes{40'000});
    EXPECT_EQ(mapped_in_part(Kilobytes{80'000}), Kilobytes{43'000}) << "some may be locked";
    EXPECT_EQ(mapped_in_part(Kilobytes{42'000}), Kilobytes{42'000}) << "no more than there are";
    EXPECT_EQ(mapped_in_part(Kilobytes{0}), Kilobytes{0});
    info.inactive_anon = Kilobytes{90'000};
    EXPECT_EQ(mapped_in_part(std::nullopt), Kilobytes{0}) << "locked pages are on none of the two lists";
    EXPECT_EQ(mapped_in_part(Kilobytes{80'000}), Kilobytes{0});
}

TEST(Used, NamesEachRowOnce) {
    const Used used = of(meminfo());
    for (std::size_t i = 0; i < used.rows.size(); ++i)
        EXPECT_EQ(static_cast<std::size_t>(used.rows[i].by), i) << "the rows are not in order";
    EXPECT_EQ(used.rows.back().by, UsedBy::Unaccounted);
}

TEST(Used, AKernelThatPrintsLessLeavesMoreUnaccounted) {
    procfs::MemInfo info = meminfo();
    info.per_cpu = info.hugetlb = std::nullopt;
    const Used used = of(info);
    EXPECT_FALSE(row(used, UsedBy::PerCpu));
    EXPECT_FALSE(row(used, UsedBy::Balloon));
    EXPECT_EQ(row(used, UsedBy::Unaccounted)->n, row(of(meminfo()), UsedBy::Unaccounted)->n + 800 + 204'800);
    EXPECT_EQ(sum(used), Kilobytes{700'000});
    info.free = std::nullopt;
    EXPECT_FALSE(row(of(info), UsedBy::Unaccounted));
}

TEST(Used, WhatLagsIsNegativeAndNotZero) {
    procfs::MemInfo info = meminfo();
    info.anon_pages = Kilobytes{84'000};
    info.free = Kilobytes{900'000};
    const Used used = of(info);
    EXPECT_EQ(row(used, UsedBy::OtherAnon), Kilobytes{-1'000});
    EXPECT_LT(row(used, UsedBy::Unaccounted)->n, 0);
    EXPECT_EQ(sum(used), Kilobytes{100'000});
}

TEST(Used, WithoutPssByMemberWhatIsMappedStaysInItsRow) {
    const Used used = account(meminfo(), meminfo(), procfs::Parts{}, {}, core::PageSize{4096});
    EXPECT_FALSE(row(used, UsedBy::ProcessAnon));
    EXPECT_EQ(row(used, UsedBy::OtherAnon), Kilobytes{90'000});
    EXPECT_EQ(row(used, UsedBy::PageCache), Kilobytes{175'000});
    EXPECT_EQ(sum(used), Kilobytes{700'000});
}

TEST(Used, KernelStacksThatAreMappedAreInVmalloc) {
    MachineMemory machine;
    machine.stacks_in_vmalloc = true;
    EXPECT_EQ(row(of(meminfo(), machine), UsedBy::Vmalloc), Kilobytes{10'000});
    machine.stacks_in_vmalloc = false;
    EXPECT_EQ(row(of(meminfo(), machine), UsedBy::Vmalloc), Kilobytes{12'000});
    machine.stacks_in_vmalloc = std::nullopt;
    EXPECT_EQ(row(of(meminfo(), machine), UsedBy::Vmalloc), Kilobytes{10'000});
    procfs::MemInfo info = meminfo();
    info.vmalloc_used = Kilobytes{500};
    EXPECT_EQ(row(of(info, machine), UsedBy::Vmalloc), Kilobytes{500})
        << "VmallocUsed is less than the stacks, so it does not include them";
}

TEST(Used, ABalloonCountsWhereMemTotalHasIt) {
    procfs::MemInfo info = meminfo();
    info.balloon = Kilobytes{50'000};
    MachineMemory machine;
    EXPECT_FALSE(row(of(info, machine), UsedBy::Balloon)) << "it is not known whether MemTotal includes the balloon";
    EXPECT_EQ(of(info, machine).balloon, Kilobytes{50'000});
    machine.balloon_in_total = true;
    EXPECT_EQ(row(of(info, machine), UsedBy::Balloon), Kilobytes{50'000});
    machine.balloon_in_total = false;
    EXPECT_EQ(row(of(info, machine), UsedBy::Balloon), Kilobytes{0});
    EXPECT_EQ(sum(of(info, machine)), Kilobytes{700'000});
}

TEST(Used, AnOlderKernelReportsABalloonByItsEvents) {
    MachineMemory machine;
    machine.balloon_in_total = true;
    machine.vmstat.balloon_inflate = Pages{300};
    machine.vmstat.balloon_deflate = Pages{100};
    EXPECT_EQ(row(of(meminfo(), machine), UsedBy::Balloon), Kilobytes{800});
}

TEST(Used, VirtioSaysWhetherMemTotalHasTheBalloon) {
    EXPECT_EQ(balloon_in_total("0110"), true);
    EXPECT_EQ(balloon_in_total("0100"), false);
    EXPECT_EQ(balloon_in_total(""), std::nullopt);
}

TEST(Used, ZswapOutsideOfZsmallocIsNotForgotten) {
    procfs::MemInfo info = meminfo();
    MachineMemory machine;
    EXPECT_FALSE(row(of(info, machine), UsedBy::Compressed));
    machine.vmstat.zspages = Pages{100};
    info.zswap = Kilobytes{300};
    EXPECT_EQ(row(of(info, machine), UsedBy::Compressed), Kilobytes{400}) << "zswap is part of zsmalloc";
    info.zswap = Kilobytes{4'000};
    EXPECT_EQ(row(of(info, machine), UsedBy::Compressed), Kilobytes{4'000});
}

TEST(Used, ShowsTheChangeOfTheMachineMeanwhile) {
    procfs::MemInfo before = meminfo(), after = meminfo();
    after.free = Kilobytes{295'000};
    after.anon_pages = Kilobytes{94'000};
    Used used = account(before, after, processes(), {}, core::PageSize{4096});
    EXPECT_EQ(used.drift.in_use, Kilobytes{5'000});
    EXPECT_EQ(used.drift.anon, Kilobytes{4'000});
    EXPECT_FALSE(used.drift.large);
    after.cached = Kilobytes{150'000};
    used = account(before, after, processes(), {}, core::PageSize{4096});
    EXPECT_EQ(used.drift.cached, Kilobytes{-50'000});
    EXPECT_TRUE(used.drift.large);
}

TEST(Used, UndoesWhatMountinfoEscapes) {
    EXPECT_EQ(unescaped("/a\\040b\\134c"), "/a b\\c");
    EXPECT_EQ(unescaped("/a\\04"), "/a\\04");
    EXPECT_EQ(unescaped("/a\\"), "/a\\");
}

}  // namespace
}  // namespace rsslag::memory
