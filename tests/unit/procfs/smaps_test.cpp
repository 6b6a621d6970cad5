// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <tuple>

#include "golden.h"
#include "procfs/files.h"

namespace rsslag::procfs {
namespace {

using core::Kilobytes;
using test::Exact;
using test::golden;
using test::refused;
using test::with;

auto tie(const SmapsFields &f) {
    return std::tie(f.rss, f.pss, f.pss_dirty, f.pss_anon, f.pss_file, f.pss_shmem, f.shared_clean, f.shared_dirty,
                    f.private_clean, f.private_dirty, f.referenced, f.anonymous, f.ksm, f.lazy_free, f.anon_huge_pages,
                    f.shmem_pmd_mapped, f.file_pmd_mapped, f.shared_hugetlb, f.private_hugetlb, f.swap, f.swap_pss,
                    f.locked);
}

bool same(const std::vector<Mapping> &a, const std::vector<Mapping> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Mapping &x, const Mapping &y) {
        return std::tie(x.start, x.end, x.perms, x.offset, x.device, x.inode, x.name, x.size, x.kernel_page_size,
                        x.vm_flags) == std::tie(y.start, y.end, y.perms, y.offset, y.device, y.inode, y.name, y.size,
                                                y.kernel_page_size, y.vm_flags) &&
               tie(x.fields) == tie(y.fields);
    });
}

const std::string header = "1000-3000 rw-p 00000000 00:00 0 \n";
const std::string field_lines = "Size:                  8 kB\nRss:                   4 kB\n";
const std::string flags_line = "VmFlags: rd wr \n";
const std::string small_text = header + field_lines + flags_line;

TEST(ParseSmaps, ReadsWhat618Prints) {
    auto mappings = parse_smaps(golden("6.18/smaps"));
    ASSERT_TRUE(mappings.ok()) << mappings.error().what;
    ASSERT_EQ(mappings->size(), 12U);
    const Mapping &code = mappings->at(1);
    EXPECT_EQ(code.start, 0x401000U);
    EXPECT_EQ(code.end, 0x47a000U);
    EXPECT_EQ(code.perms, "r-xp");
    EXPECT_EQ(code.offset, 0x1000U);
    EXPECT_EQ(code.device, "fe:00");
    EXPECT_EQ(code.inode, 10952939U);
    EXPECT_EQ(code.name, "/tmp/names/hostile");
    EXPECT_EQ(code.size, Kilobytes{484});
    EXPECT_EQ(code.fields.rss, Kilobytes{484});
    EXPECT_EQ(code.fields.ksm, Kilobytes{0});
    EXPECT_FALSE(code.fields.pss_anon) << "only smaps_rollup has this line";
    EXPECT_EQ(code.kernel_page_size, Kilobytes{4});
    EXPECT_EQ(code.vm_flags, "rd ex mr mw me");
    EXPECT_EQ(mappings->at(5).name, "");
    EXPECT_EQ(mappings->at(6).name, "[heap]");
    EXPECT_EQ(mappings->back().name, "[vsyscall]");
    EXPECT_EQ(mappings->back().start, 0xffffffffff600000U);
}

TEST(ParseSmaps, ReadsOtherKernelsAndSaysWhichLinesTheyDoNotPrint) {
    struct Expected {
        const char *kernel;
        bool pss_dirty, ksm;
        const char *name;
    };
    for (const Expected &expected : {Expected{"5.10", false, false, ""},
                                     {"6.1", true, false, "[anon:glibc: malloc arena]"},
                                     {"6.12", true, true, "[anon:glibc: malloc arena]"},
                                     {"7.x", true, true, "[anon:glibc: malloc arena]"}}) {
        auto mappings = parse_smaps(golden(std::string(expected.kernel) + "/smaps"));
        ASSERT_TRUE(mappings.ok()) << expected.kernel << ": " << mappings.error().what;
        ASSERT_EQ(mappings->size(), 4U);
        for (const Mapping &mapping : *mappings) {
            EXPECT_EQ(mapping.fields.pss_dirty.has_value(), expected.pss_dirty) << expected.kernel;
            EXPECT_EQ(mapping.fields.ksm.has_value(), expected.ksm) << expected.kernel;
            EXPECT_TRUE(mapping.fields.file_pmd_mapped.has_value()) << expected.kernel;
        }
        EXPECT_EQ(mappings->at(1).name, expected.name) << expected.kernel;
        SmapsFields total = sum(*mappings);
        EXPECT_EQ(total.rss, Kilobytes{40}) << expected.kernel;
        EXPECT_EQ(total.ksm.has_value(), expected.ksm) << expected.kernel;
        EXPECT_FALSE(total.pss_anon) << expected.kernel;
    }
}

TEST(ParseSmaps, KeepsTheKernelsOwnNames) {
    auto mappings = parse_smaps(golden("6.18/hostile.smaps"));
    ASSERT_TRUE(mappings.ok()) << mappings.error().what;
    ASSERT_EQ(mappings->size(), 20U);
    std::vector<std::string> names;
    for (const Mapping &mapping : *mappings)
        names.push_back(mapping.name);
    for (const char *name :
         {"/tmp/names/a\\012Rss:  5 kB", "/tmp/names/Rss:  5 kB", "/tmp/names/back\\012slash",
          "/tmp/names/end  (deleted)", "/tmp/names/\\012VmFlags: rd", "/memfd:x\\012Rss:  7 kB\\012 (deleted)",
          "/dev/zero (deleted)", "[heap]", "[stack]", "[vdso]", "[vvar]", ""}) {
        EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
    }
    auto longest = std::max_element(names.begin(), names.end(),
                                    [](const std::string &a, const std::string &b) { return a.size() < b.size(); });
    EXPECT_EQ(longest->size(), 3839U);
    EXPECT_TRUE(longest->ends_with("ddd/deep file"));
}

TEST(ParseSmaps, KeepsBlanksAtTheEndOfAName) {
    auto mappings = parse_smaps(with(small_text, "00:00 0 \n", "08:01 77                     /tmp/a: b  \n"));
    ASSERT_TRUE(mappings.ok()) << mappings.error().what;
    EXPECT_EQ(mappings->at(0).name, "/tmp/a: b  ");
    EXPECT_EQ(mappings->at(0).inode, 77U);
}

TEST(ParseSmaps, TakesTheFieldsInAnyOrderAndPassesOverUnknownOnes) {
    auto in_order = parse_smaps(small_text);
    ASSERT_TRUE(in_order.ok()) << in_order.error().what;
    auto shuffled =
        parse_smaps(header + flags_line + "deadbeef: x\nNew-Field:\nRss:   4 kB\na-b:c\nSize: 8 kB\nPKey: -1\n");
    ASSERT_TRUE(shuffled.ok()) << shuffled.error().what;
    EXPECT_TRUE(same(*in_order, *shuffled));
}

TEST(ParseSmaps, SumsToWhatTheRollupOfTheSameMomentSays) {
    for (const char *which : {"6.18/", "6.18/hostile."}) {
        auto mappings = parse_smaps(golden(which + std::string("smaps")));
        auto rollup = parse_smaps_rollup(golden(which + std::string("smaps_rollup")));
        ASSERT_TRUE(mappings.ok() && rollup.ok());
        SmapsFields total = sum(*mappings);
        // smaps was read first. Reading the rollup may touch a page or two, and Pss is rounded in each mapping.
        EXPECT_NEAR(static_cast<double>(total.rss->n), static_cast<double>(rollup->sums.rss->n), 16);
        EXPECT_EQ(total.swap, rollup->sums.swap);
        EXPECT_EQ(total.shared_hugetlb, rollup->sums.shared_hugetlb);
    }
}

TEST(ParseSmaps, HoldsNoMappingsInEmptyText) {
    auto mappings = parse_smaps("");
    ASSERT_TRUE(mappings.ok());
    EXPECT_TRUE(mappings->empty());
}

TEST(ParseSmaps, SaysWhatIsWrongAndOnWhichLine) {
    auto bad = [](std::string_view from, std::string_view to) { return parse_smaps(with(small_text, from, to)); };
    EXPECT_TRUE(refused(parse_smaps(field_lines), "smaps line 1: a field before the first mapping"));
    EXPECT_TRUE(refused(bad("1000-3000", "3000-1000"), "smaps line 1: a mapping that ends before it begins"));
    EXPECT_TRUE(refused(bad("1000-3000", "1000-1000"), "smaps line 1: a mapping that ends before it begins"));
    EXPECT_TRUE(refused(bad("1000-3000", "1000-10000000000003000"), "smaps line 1: neither"));
    EXPECT_TRUE(refused(bad("1000-3000", "-3000"), "smaps line 1: neither"));
    EXPECT_TRUE(refused(bad("1000-3000", "1000-"), "smaps line 1: neither"));
    EXPECT_TRUE(refused(bad("1000-3000", ""), "smaps line 1: neither"));
    EXPECT_TRUE(refused(bad("rw-p", "rwzp"), "permissions"));
    EXPECT_TRUE(refused(bad("rw-p", "rw-"), "permissions"));
    EXPECT_TRUE(refused(bad("00000000", "-1"), "offset"));
    EXPECT_TRUE(refused(bad("00:00", "00"), "device"));
    EXPECT_TRUE(refused(bad("00:00 0 ", "00:00 "), "inode"));
    EXPECT_TRUE(refused(bad("00:00 0 ", "00:00 0x"), "inode"));
    EXPECT_TRUE(refused(bad("00:00 0 ", "00:00 -5 "), "inode"));
    EXPECT_TRUE(refused(bad("Rss:", "\nRss:"), "smaps line 3: neither"));
    EXPECT_TRUE(refused(bad("Rss:                   4 kB", "Rss:"), "smaps line 3: Rss is not an unsigned number"));
    EXPECT_TRUE(refused(bad("  4 kB", " -4 kB"), "smaps line 3: Rss is not an unsigned number"));
    EXPECT_TRUE(refused(bad("  4 kB", "  4"), "smaps line 3: Rss is not in kB"));
    EXPECT_TRUE(refused(bad("  4 kB", "  4 kB "), "smaps line 3: Rss has trailing characters"));
    EXPECT_TRUE(refused(bad("  4 kB", "  99999999999999999999 kB"), "smaps line 3: Rss is out of range"));
    EXPECT_TRUE(refused(bad("Rss:", "Rss: 4 kB\nRss:"), "smaps line 4: Rss appears twice"));
    EXPECT_TRUE(refused(bad("Size:", "Size: 8 kB\nSize:"), "smaps line 3: Size appears twice"));
    EXPECT_TRUE(refused(bad("VmFlags:", "VmFlags:\nVmFlags:"), "smaps line 5: VmFlags appears twice"));
    EXPECT_TRUE(refused(bad("  8 kB", "  4 kB"), "smaps line 4: the mapping above has a Size"));
}

TEST(ParseSmaps, RefusesAMappingThatIsNotWhole) {
    EXPECT_TRUE(refused(parse_smaps(header + field_lines), "smaps line 3: the mapping above is cut off"));
    EXPECT_TRUE(refused(parse_smaps(header + field_lines + small_text), "smaps line 4: the mapping above is cut off"));
    EXPECT_TRUE(refused(parse_smaps(header), "has no Size"));
    EXPECT_TRUE(refused(parse_smaps(header + "Size: 8 kB\n" + flags_line), "has no Rss"));
    EXPECT_TRUE(refused(parse_smaps(small_text.substr(0, small_text.size() - 1)), "smaps line 4: the text is cut off"));
}

/// If the text is cut between two mappings, it is the start of the list. Cut at any other byte, it is refused.
TEST(ParseSmaps, CutAtAnyByteIsRefusedOrTheMappingsBeforeTheCut) {
    for (const char *name : {"6.18/smaps", "5.10/smaps", "7.x/smaps"}) {
        std::string text = golden(name);
        auto whole = parse_smaps(text);
        ASSERT_TRUE(whole.ok());
        for (std::size_t size = 1; size < text.size(); ++size) {
            auto cut = parse_smaps(Exact(text.substr(0, size)).view());
            if (!cut) {
                EXPECT_TRUE(refused(cut, "smaps line")) << name << " at " << size;
                continue;
            }
            ASSERT_LT(cut->size(), whole->size()) << name << " at " << size;
            std::vector<Mapping> before(whole->begin(), whole->begin() + static_cast<std::ptrdiff_t>(cut->size()));
            EXPECT_TRUE(same(*cut, before)) << name << " at " << size;
            bool between = text[size - 1] == '\n' && text.compare(size + 8, 1, "-") == 0;
            bool high = text.find('-', size) < text.find(' ', size);
            EXPECT_TRUE(between || high) << name << " at " << size;
        }
    }
}

TEST(ParseSmapsRollup, ReadsWhatEachKernelPrints) {
    for (const char *kernel : {"5.10", "6.1", "6.12", "6.18", "7.x"}) {
        auto rollup = parse_smaps_rollup(golden(std::string(kernel) + "/smaps_rollup"));
        ASSERT_TRUE(rollup.ok()) << kernel << ": " << rollup.error().what;
        EXPECT_EQ(rollup->sums.rss, Kilobytes{708});
        EXPECT_EQ(rollup->sums.pss, Kilobytes{704});
        EXPECT_EQ(rollup->sums.pss_anon, Kilobytes{56});
        EXPECT_EQ(rollup->sums.locked, Kilobytes{0});
        EXPECT_EQ(rollup->sums.pss_dirty.has_value(), std::string(kernel) != "5.10");
    }
}

TEST(ParseSmapsRollup, AcceptsTheRangeOfAProcessThatUnmappedEverything) {
    auto rollup =
        parse_smaps_rollup("00000000-00000000 ---p 00000000 00:00 0         [rollup]\nRss: 0 kB\nLocked: 0 kB\n");
    ASSERT_TRUE(rollup.ok()) << rollup.error().what;
    EXPECT_EQ(rollup->sums.rss, Kilobytes{0});
    EXPECT_FALSE(rollup->sums.pss);
}

TEST(ParseSmapsRollup, SaysWhatIsWrongAndOnWhichLine) {
    std::string text = golden("6.18/smaps_rollup");
    EXPECT_TRUE(refused(parse_smaps_rollup(""), "smaps_rollup line 1: the file is empty"));
    EXPECT_TRUE(refused(parse_smaps_rollup(with(text, "[rollup]", "[heap]")), "smaps_rollup line 1: the first line"));
    EXPECT_TRUE(refused(parse_smaps_rollup(golden("6.18/smaps")), "smaps_rollup line 1: the first line"));
    EXPECT_TRUE(refused(parse_smaps_rollup(with(text, "00400000-", "ffffffffffff0000-")), "ends before it begins"));
    EXPECT_TRUE(refused(parse_smaps_rollup(with(text, "Rss:", "Rzz:")), "without Rss"));
    EXPECT_TRUE(refused(parse_smaps_rollup(with(text, "Locked:", "Loaded:")), "smaps_rollup line 23: the text is cut"));
    EXPECT_TRUE(refused(parse_smaps_rollup(text + text), "smaps_rollup line 24: not a field"));
    EXPECT_TRUE(refused(parse_smaps_rollup(with(text, "704 kB", "kB")), "smaps_rollup line 3: Pss is not an unsigned"));
}

TEST(ParseSmapsRollup, CutAtAnyByteIsRefused) {
    for (const char *kernel : {"6.18", "5.10", "7.x"}) {
        std::string text = golden(std::string(kernel) + "/smaps_rollup");
        auto whole = parse_smaps_rollup(text);
        ASSERT_TRUE(whole.ok());
        std::size_t end_of_locked = text.find('\n', text.find("Locked:")) + 1;
        for (std::size_t size = 0; size < text.size(); ++size) {
            auto cut = parse_smaps_rollup(Exact(text.substr(0, size)).view());
            // Lines after Locked belong to future kernels and are not read.
            if (cut) {
                EXPECT_EQ(size, end_of_locked) << kernel;
                EXPECT_EQ(tie(cut->sums), tie(whole->sums)) << kernel;
            } else {
                EXPECT_TRUE(refused(cut, "smaps_rollup line"));
            }
        }
    }
}

TEST(SumOfMappings, StopsAtTheLargestNumberInsteadOfOverflowing) {
    Mapping huge;
    huge.fields.rss = Kilobytes{std::numeric_limits<std::int64_t>::max() - 1};
    EXPECT_EQ(sum({huge, huge, huge}).rss, Kilobytes{std::numeric_limits<std::int64_t>::max()});
    EXPECT_FALSE(sum({huge, huge}).pss);
    EXPECT_FALSE(sum({}).rss);
}

/// A loose limit, as this also runs in debug builds, with sanitizers and next to other tests. An optimized build takes
/// a hundredth.
TEST(ParseSmaps, TakesTenThousandMappingsInAMoment) {
    auto small = golden("6.18/smaps");
    std::string text;
    std::size_t mappings = 0;
    for (; mappings < 10000; mappings += 12)
        text += small;
    auto begin = std::chrono::steady_clock::now();
    auto parsed = parse_smaps(text);
    auto took = std::chrono::steady_clock::now() - begin;
    ASSERT_TRUE(parsed.ok()) << parsed.error().what;
    EXPECT_EQ(parsed->size(), mappings);
    EXPECT_LT(took, std::chrono::seconds(10));
    RecordProperty("microseconds",
                   static_cast<int>(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
}

}  // namespace
}  // namespace rsslag::procfs
