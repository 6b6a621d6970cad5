// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/droppable.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>

#include "golden.h"

namespace rsslag::procfs {
namespace {

using core::Kilobytes;

const Devices kMounted{"00:01", {"00:2d"}, {"08:01", "00:30"}, {"00:30"}};

struct Resident {
    std::string name;
    std::uint64_t offset_kb = 0;
    std::int64_t size = 0, clean = 0, dirty = 0, anon = 0;
    std::string flags = "rd mr mw me";
    std::string device = "08:01";
    std::uint64_t inode = 12;
};

Mapping mapped(const Resident &like) {
    Mapping mapping;
    mapping.name = like.name;
    mapping.perms = "r--s";
    mapping.device = like.device;
    mapping.inode = like.inode;
    mapping.offset = like.offset_kb * 1024;
    mapping.vm_flags = like.flags;
    mapping.size = {like.size};
    mapping.fields.rss = Kilobytes{like.clean + like.dirty};
    mapping.fields.anonymous = Kilobytes{like.anon};
    mapping.fields.shared_clean = Kilobytes{like.clean};
    mapping.fields.private_dirty = Kilobytes{like.dirty};
    return mapping;
}

Kilobytes of_files(const std::vector<Resident> &all) {
    std::vector<Mapping> mappings;
    for (const Resident &each : all)
        mappings.push_back(mapped(each));
    return droppable(mappings, kMounted).file;
}

TEST(Droppable, IsWhatIsCleanAndOfAFile) {
    EXPECT_EQ(of_files({{"/lib/x.so", 0, 60, 50}}), Kilobytes{50});
    EXPECT_EQ(of_files({{"/lib/x.so", 0, 60, 30, 20}}), Kilobytes{30});
    EXPECT_EQ(of_files({{"/lib/x.so", 0, 60, 50, 0, 20}}), Kilobytes{30})
        << "copied pages are anonymous, even if they are clean";
    EXPECT_EQ(of_files({{"/elsewhere", 0, 60, 50, 0, 0, "rd", "00:99"}}), Kilobytes{50})
        << "an unknown file system may be on a disk";
}

TEST(Droppable, LeavesOutWhatReclaimCannotTake) {
    const auto none = [](const Resident &like) { EXPECT_EQ(of_files({like}), Kilobytes{}) << like.name << like.flags; };
    none({"socket:[983068]", 0, 8192, 8192, 0, 0, "rd wr sh mr mw ms mm", "00:09"});
    none({"socket:[983068]", 0, 8192, 8192, 0, 0, "rd wr sh", "00:09"});
    none({"anon_inode:[perf_event]", 0, 520, 520, 0, 0, "rd wr sh mr mw me ms dc de dd", "00:0d"});
    none({"anon_inode:kvm-vcpu:0", 0, 12, 12, 0, 0, "rd wr sh mr mw me ms", "00:0d"});
    none({"anon_inode:bpf-map", 0, 64, 64, 0, 0, "rd mr me ms de dd mm", "00:0d"});
    none({"/[aio] (deleted)", 0, 8, 8, 0, 0, "rd wr sh mr mw me ms de", "00:0e"});
    none({"/secretmem (deleted)", 0, 8, 8, 0, 0, "rd wr sh mr mw me ms lo dd", "00:0f"});
    for (const char *const flag : {"io", "pf", "mm", "de", "lo"})
        none({"/dev/device", 0, 64, 64, 0, 0, std::string("rd wr ") + flag});
    none({"/run/x", 0, 64, 64, 0, 0, "rd", "00:2d"});
    none({"/memfd:x (deleted)", 0, 64, 64, 0, 0, "rd", "00:01"});
    none({"/ramfs/x", 0, 64, 64, 0, 0, "rd", "00:30"});
    none({"[vdso]", 0, 8, 4, 0, 0, "rd ex", "00:00", 0});
}

TEST(Droppable, IncludesPagesOfABlockDeviceWhereverItsNodeIs) {
    for (const char *const device : {"00:2d", "00:30"}) {  // tmpfs, ramfs
        const Mapping node = mapped({"/dev/x", 0, 8192, 8192, 0, 0, "rd mr me ms", device, 94});
        Devices devices = kMounted;
        devices.block_nodes.emplace(device, 94);
        EXPECT_EQ(droppable({node}, devices).file, Kilobytes{8192}) << device;
        devices.block_nodes.clear();
        devices.character_nodes.emplace(device, 94);
        EXPECT_EQ(droppable({node}, devices).file, Kilobytes{}) << device << ": pages of a driver";
    }
}

TEST(Droppable, CountsAPageOfAFileOnce) {
    EXPECT_EQ(of_files({{"/f", 0, 1600, 1600}, {"/f", 0, 1600, 1600}}), Kilobytes{1600});
    EXPECT_EQ(of_files({{"/f", 0, 1600, 1600}, {"/f (deleted)", 0, 1600, 1600}}), Kilobytes{1600});
    EXPECT_EQ(of_files({{"/f", 0, 1600, 1600}, {"/f", 1600, 1600, 1600}}), Kilobytes{3200});
    EXPECT_EQ(of_files({{"/f", 0, 1600, 1600}, {"/f", 800, 1600, 1600}}), Kilobytes{2400});
    EXPECT_EQ(of_files({{"/f", 0, 1600, 1600}, {"/f", 0, 1600, 1600, 0, 0, "rd", "08:01", 13}}), Kilobytes{3200});
    EXPECT_EQ(of_files({{"/f", 0, 1600, 100}, {"/f", 0, 1600, 200}}), Kilobytes{300})
        << "the two mappings may hold different pages";
    EXPECT_EQ(of_files({{"/f", 0, 400, 400}, {"/f", 0, 1600, 400}, {"/f", 400, 100, 100}}), Kilobytes{900});
    EXPECT_EQ(of_files({{"/f", 0, 100, 100}, {"/f", 0, 100, 100}, {"/f", 50, 100, 60}}), Kilobytes{150})
        << "50 kB of the last mapping are beyond the other two";
}

TEST(Droppable, AsksWhichPagesAreThereWhereAFileIsMappedTwice) {
    std::vector<Mapping> mappings{mapped({"/f", 0, 1600, 100}), mapped({"/f", 800, 1600, 100}),
                                  mapped({"/g", 0, 1600, 100, 0, 0, "rd", "08:01", 13})};
    mappings[0].start = 0x10000000;
    mappings[1].start = 0x20000000;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> asked;
    std::int64_t held = 0;  // at the start of the range that both map
    const auto of_file = [&] {
        asked.clear();
        return droppable(mappings, kMounted,
                         {{4096},
                          [&](std::uint64_t start, std::uint64_t end, const FilePages::Found &found) {
                              asked.emplace_back(start, end);
                              for (std::int64_t kb = 0; kb < held; kb += 4)
                                  found({start + static_cast<std::uint64_t>(kb) * 1024});
                              return held >= 0;
                          }})
            .file;
    };
    EXPECT_EQ(of_file(), Kilobytes{300}) << "no page is in both mappings";
    const std::vector<std::pair<std::uint64_t, std::uint64_t>> both{{0x10000000 + 800 * 1024, 0x10000000 + 1600 * 1024},
                                                                    {0x20000000, 0x20000000 + 800 * 1024}};
    EXPECT_EQ(asked, both);
    held = 80;
    EXPECT_EQ(of_file(), Kilobytes{220});
    mappings[0].fields.private_dirty = Kilobytes{20};
    mappings[0].fields.rss = Kilobytes{120};
    EXPECT_EQ(of_file(), Kilobytes{240}) << "20 of the 80 kB may be dirty";
    mappings[1].vm_flags = "rd lo";
    EXPECT_EQ(of_file(), Kilobytes{140}) << "the second mapping locks 60 kB of the first";
    mappings[1].vm_flags = "rd";
    held = -1;
    EXPECT_EQ(of_file(), Kilobytes{300}) << "without pagemap the upper bound remains";
}

/// Each mapping holds the frames from `first` on.
TEST(Droppable, CountsAPageOnceThatAnOverlayShowsAgain) {
    Devices devices = kMounted;
    devices.others.insert("00:40");
    devices.stacked.insert("00:40");
    std::vector<Mapping> mappings{mapped({"/below/f", 0, 400, 400}),
                                  mapped({"/f", 0, 400, 200, 0, 0, "rd", "00:40", 99}),
                                  mapped({"/f", 0, 400, 200, 0, 0, "rd", "00:40", 99})};
    std::vector<std::uint64_t> first{1000, 1000, 1000};
    for (std::size_t i = 0; i < mappings.size(); ++i)
        mappings[i].start = (i + 1) << 28;
    const auto of_file = [&](const Devices &mounted) {
        const auto visit = [&](std::uint64_t start, std::uint64_t /*end*/, const FilePages::Found &found) {
            const std::size_t i = (start >> 28) - 1;
            const auto pages = static_cast<std::uint64_t>(mappings[i].fields.rss->n / 4);
            for (std::uint64_t page = 0; page < pages; ++page)
                found({start + page * 4096, first[i] == 0 ? 0 : first[i] + page});
            return true;
        };
        const Droppable taken = droppable(mappings, mounted, {{4096}, visit});
        EXPECT_EQ(taken.each_once, first[0] != 0 || mounted.stacked.empty());
        return taken.file;
    };
    EXPECT_EQ(of_file(devices), Kilobytes{400});
    EXPECT_EQ(of_file(kMounted), Kilobytes{600}) << "without an overlay two files have no page in common";
    first = {1000, 1075, 1075};
    EXPECT_EQ(of_file(devices), Kilobytes{500}) << "25 of the 50 pages are also in the first mapping";
    mappings[0].fields.private_dirty = Kilobytes{40};
    mappings[0].fields.shared_clean = Kilobytes{360};
    EXPECT_EQ(of_file(devices), Kilobytes{500}) << "10 of the 25 pages may be dirty, and are not counted";
    mappings[0].vm_flags = "rd lo";
    EXPECT_EQ(of_file(devices), Kilobytes{100});
    first = {0, 0, 0};
    mappings[0] = mapped({"/below/f", 0, 400, 400});
    mappings[0].start = 1 << 28;
    EXPECT_EQ(of_file(devices), Kilobytes{800}) << "without frame numbers the upper bound remains";
}

/// Mappings without frame numbers. Each shows the pages of one file, whatever its name.
class Unnumbered {
  public:
    struct Shown {
        Mapping mapping;
        int file = 0;
        bool can_be_opened = true;
        bool by_others = false;                ///< another process maps the file, too
        int opened_as = -1;                    ///< the file that its path leads to now; -1: still the same
        std::uint64_t present_kb = 1'000'000;  ///< from its beginning
        bool lost = false;        ///< reclaim takes its pages after they were read, before mappers() is called
        std::set<int> dropped{};  ///< steps in which it has no page; a step is a reading of pages or a question
    };

    Shown &add(int file, const Resident &like) {
        Shown shown{mapped(like), file};
        shown.mapping.start = (all_.size() + 1) << 28;
        return all_.emplace_back(shown);
    }
    Droppable count(const Devices &devices) {
        asked = 0;
        step_ = 0;
        std::vector<Mapping> mappings;
        for (const Shown &shown : all_)
            mappings.push_back(shown.mapping);
        const auto visit = [&](std::uint64_t start, std::uint64_t end, const FilePages::Found &found) {
            const Shown &shown = at(start);
            ++step_;
            if ((shown.lost && asked > 0) || shown.dropped.contains(step_)) return read;
            end = std::min(end, shown.mapping.start + shown.present_kb * 1024);
            for (std::uint64_t page = start; page < end; page += 4096) {
                if (entries-- == 0) return entries = std::exchange(reserve, 0), false;
                const std::uint64_t offset = offset_of(shown.mapping, page);
                const std::uint64_t frame = static_cast<std::uint64_t>(shown.file) * 1000 + offset / 4096;
                const std::uint64_t counted = by_pmd(shown, offset) ? offset - offset % kPmd : offset;  // until 6.11
                found({page, numbered ? frame : 0, !shown.by_others && having(shown.file, counted).size() == 1});
            }
            return read;
        };
        const auto ask = [&](const Mapping &mapping,
                             const std::set<std::uint64_t> &offsets) -> std::optional<std::set<std::uint64_t>> {
            ++asked;
            ++step_;
            const Shown &shown = at(mapping.start);
            if (!shown.can_be_opened) return std::nullopt;
            return mappers(shown.opened_as < 0 ? shown.file : shown.opened_as, offsets);
        };
        return droppable(mappings, devices, {{4096}, visit, ask, pmd_bytes, [&] { return faults(); }});
    }

    static constexpr std::uint64_t kPmd = 65536;

    std::uint64_t pmd_bytes = kPmd;
    int asked = 0;
    bool read = true;
    bool numbered = false;
    bool busy = false;                                  ///< the process has page faults all the time
    std::int64_t entries = 1'000'000, reserve = 1'000;  ///< of pagemap, that may be read

  private:
    std::uint64_t faults() const {
        std::uint64_t sum = busy ? static_cast<std::uint64_t>(++other_faults_) : 0;
        for (const Shown &shown : all_)
            sum += static_cast<std::uint64_t>(std::ranges::count_if(
                shown.dropped, [&](int step) { return step < step_ && !shown.dropped.contains(step + 1); }));
        return sum;
    }
    static std::uint64_t offset_of(const Mapping &mapping, std::uint64_t page) {
        return mapping.offset + (page - mapping.start);
    }
    const Shown &at(std::uint64_t address) const { return all_[(address >> 28) - 1]; }
    static std::uint64_t end_of(const Mapping &mapping) {
        return mapping.offset + static_cast<std::uint64_t>(mapping.size.n) * 1024;
    }
    static bool by_pmd(const Shown &shown, std::uint64_t offset) {
        const std::uint64_t first = offset - offset % kPmd;
        return shown.mapping.fields.file_pmd_mapped.value_or(Kilobytes{}).n > 0 && first >= shown.mapping.offset &&
               first + kPmd <= end_of(shown.mapping);
    }
    /// As gather_stats() of the kernel counts.
    std::set<std::uint64_t> mappers(int file, const std::set<std::uint64_t> &offsets) const {
        std::set<std::uint64_t> found;
        for (const std::uint64_t offset : offsets)
            for (const std::uint64_t start : having(file, offset))
                if (!at(start).lost && (!by_pmd(at(start), offset) || offset % kPmd == 0)) found.insert(start);
        return found;
    }
    std::set<std::uint64_t> having(int file, std::uint64_t offset) const {
        std::set<std::uint64_t> found;
        for (const Shown &shown : all_) {
            const std::uint64_t begin = shown.mapping.offset;
            if (shown.file == file && offset >= begin && offset < end_of(shown.mapping) &&
                !shown.dropped.contains(step_))
                found.insert(shown.mapping.start);
        }
        return found;
    }
    std::deque<Shown> all_;
    int step_ = 0;
    mutable int other_faults_ = 0;
};

constexpr const char *kOverlay = "00:40";
constexpr const char *kBtrfs = "00:41";

Devices with_overlay() {
    Devices devices = kMounted;
    devices.others.insert({kOverlay, kBtrfs});
    devices.stacked.insert(kOverlay);
    devices.subvolumes.insert(kBtrfs);
    return devices;
}

void expect(Unnumbered &process, std::int64_t kb, bool each_once, const char *why,
            const Devices &devices = with_overlay()) {
    const Droppable found = process.count(devices);
    EXPECT_EQ(found.file, Kilobytes{kb}) << why;
    EXPECT_EQ(found.each_once, each_once) << why;
    EXPECT_LE(found.file_surely_once, found.file) << why;
    if (each_once) {
        EXPECT_EQ(found.file_surely_once, found.file) << why;
    }
}

TEST(Droppable, ShowsARangeIfItIsNotKnownWhetherTwoFilesAreOne) {
    Unnumbered process;
    Unnumbered::Shown &below = process.add(1, {"/below/f", 0, 400, 400});
    Unnumbered::Shown &above = process.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99});
    Unnumbered::Shown &other = process.add(2, {"/other", 0, 100, 100, 0, 0, "rd", kOverlay, 98});
    below.can_be_opened = above.can_be_opened = false;
    other.by_others = true;
    const auto expect_range = [&](std::int64_t least, std::int64_t most, const char *why) {
        const Droppable found = process.count(with_overlay());
        EXPECT_EQ(found.file_surely_once, Kilobytes{least}) << why;
        EXPECT_EQ(found.file, Kilobytes{most}) << why;
        EXPECT_FALSE(found.each_once) << why;
    };
    const auto set_pss = [&](std::int64_t of_below, std::int64_t of_above) {
        below.mapping.fields.pss = Kilobytes{of_below};
        above.mapping.fields.pss = Kilobytes{of_above};
    };
    other.mapping.fields.pss = Kilobytes{10};
    set_pss(200, 200);
    expect_range(500, 900, "the other file is known to be another one");
    set_pss(250, 250);
    expect_range(600, 900, "at least 100 pages have one mapping");
    set_pss(50, 50);
    expect_range(500, 900, "each mapping alone has 400 kB");
    set_pss(250, 300);
    above.mapping.fields.rss = Kilobytes{460};
    above.mapping.fields.anonymous = Kilobytes{20};
    above.mapping.fields.private_dirty = Kilobytes{60};
    expect_range(590, 900, "of Pss of the second mapping, 60 kB may be anonymous or dirty");
    process.read = false;
    expect_range(500, 900, "without pagemap any two of the three files may be one");
    process.read = true;
    below.mapping.vm_flags = "rd lo";
    expect_range(100, 500, "the pages of the second mapping may be those that the first locks");
}

TEST(Droppable, CountsAFileOnceThatAnOverlayShowsIfItsPagesAreTheSame) {
    for (const bool below_opens : {true, false}) {
        for (const bool overlay_opens : {true, false}) {
            Unnumbered process;
            process.add(1, {"/below/f", 0, 400, 400}).can_be_opened = below_opens;
            process.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99}).can_be_opened = overlay_opens;
            process.add(2, {"/other", 0, 100, 100, 0, 0, "rd", kOverlay, 98});
            const bool opens = below_opens || overlay_opens;
            expect(process, opens ? 500 : 900, opens, "a page of /other is mapped only once");
            process.read = false;
            expect(process, 900, false, "pagemap cannot be read");
        }
    }
}

TEST(Droppable, CountsTwoFilesWhosePagesOtherProcessesMap) {
    Unnumbered process;
    process.add(1, {"/below/f", 0, 400, 400}).by_others = true;
    process.add(2, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99}).by_others = true;
    expect(process, 800, true, "a copy in a higher layer");
    EXPECT_EQ(process.asked, 1);
    Devices devices = with_overlay();
    devices.stacked.clear();
    expect(process, 800, true, "without an overlay two files have no page in common", devices);
    EXPECT_EQ(process.asked, 0);
}

TEST(Droppable, CountsFilesOfOneOverlayThatHaveTheSameData) {
    Devices devices = with_overlay();
    Unnumbered process;
    process.add(1, {"/a", 0, 400, 400, 0, 0, "rd", kOverlay, 98});
    process.add(1, {"/b", 0, 400, 400, 0, 0, "rd", kOverlay, 99});
    devices.data_layers.insert(kOverlay);
    expect(process, 400, true, "both are on one file in a layer of data alone", devices);
}

TEST(Droppable, CountsTwoFilesThatOnePathOfAnOverlayLedTo) {
    for (const bool by_others : {true, false}) {
        Unnumbered process;
        process.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99}).by_others = by_others;
        process.add(2, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99}).by_others = by_others;
        process.add(2, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99}).by_others = by_others;
        process.add(2, {"/f", 200, 200, 200, 0, 0, "rd", kOverlay, 99}).by_others = by_others;
        expect(process, 800, true, "it was copied up between the first mapping and the others");
    }
    Unnumbered unread;
    unread.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99});
    unread.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99});
    unread.read = false;
    expect(unread, 400, false, "pagemap cannot be read: probably there is one file");
    unread.add(1, {"/link", 0, 400, 400, 0, 0, "rd", kOverlay, 99});
    expect(unread, 1200, false, "one of two links may have been copied up");
    Unnumbered process;
    Unnumbered::Shown &below = process.add(1, {"/below/f", 0, 400, 400});
    below.opened_as = 3;
    process.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99}).opened_as = 2;
    expect(process, 800, false, "neither path leads to the mapped file");
}

TEST(Droppable, FindsTheMappingsThatHaveAPageByPmd) {
    for (const bool same : {true, false}) {
        for (const std::size_t with_pmd : {0U, 1U}) {
            for (const std::int64_t offset : {0, 4, 8}) {
                for (const std::int64_t size : {40, 320}) {
                    Unnumbered process;
                    Resident part{"/f", static_cast<std::uint64_t>(offset), size, size, 0, 0, "rd", kOverlay, 99};
                    const std::array<Unnumbered::Shown *, 2> shown{&process.add(1, {"/below/f", 0, 640, 640}),
                                                                   &process.add(same ? 1 : 2, part)};
                    for (Unnumbered::Shown *const one : shown)
                        one->by_others = true;
                    shown[with_pmd]->mapping.fields.file_pmd_mapped = Kilobytes{64};
                    expect(process, same ? 640 : 640 + size, true, "the first page of a PMD entry tells");
                    process.pmd_bytes = 0;
                    const bool known = offset == 0 || with_pmd == 1;
                    const std::int64_t again = known || size > 64 ? 0 : size;  // the page at 64 kB tells
                    expect(process, 640 + (same ? again : size), known, "the size is not known");
                }
            }
        }
    }
}

TEST(Droppable, DoesNotBelieveThatAPageOfAPmdEntryIsMappedOnce) {
    Unnumbered process;
    process.add(1, {"/below/f", 0, 640, 640}).mapping.fields.file_pmd_mapped = Kilobytes{640};
    process.add(1, {"/f", 4, 40, 40, 0, 0, "rd", kOverlay, 99});
    expect(process, 640, true, "the first page of the entry is mapped only once, the others twice");
}

TEST(Droppable, DoesNotTakeALostPageForThatOfAnotherFile) {
    for (const bool below : {true, false}) {
        Unnumbered process;
        process.add(1, {"/below/f", 0, 400, 400}).lost = below;
        process.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99}).lost = !below;
        expect(process, 800, false, "the mapping that lost the page does not show that it had it");
    }
}

TEST(Droppable, IsAtMostTheFileIfItsPagesGoMeanwhile) {
    for (const bool numbered : {false, true}) {
        Unnumbered process;
        process.numbered = numbered;
        process.add(1, {"/below/f", 0, 400, 400});
        process.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99}).present_kb = 100;
        expect(process, 400, true, "smaps counted the pages that pagemap no longer shows");
        Unnumbered dropped;
        dropped.numbered = numbered;
        dropped.add(1, {"/below/f", 0, 400, 400});
        dropped.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99}).present_kb = 0;
        expect(dropped, 800, false, "no page shows whether this is the same file");
    }
}

TEST(Droppable, DoesNotBelieveThatAPageIsMappedOnceIfAnotherMappingDropsIt) {
    for (const std::size_t dropping : {0U, 1U}) {
        for (const std::set<int> &when : {std::set<int>{1}, {2}, {1, 3}, {2, 4}, {2, 3, 6}}) {
            Unnumbered process;
            const std::array<Unnumbered::Shown *, 2> both{
                &process.add(1, {"/below/f", 0, 400, 400}),
                &process.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99})};
            both[dropping]->dropped = when;
            const Droppable found = process.count(with_overlay());
            EXPECT_TRUE(found.file == Kilobytes{400} || !found.each_once)
                << dropping << ' ' << testing::PrintToString(when);
        }
    }
    Unnumbered process;
    process.add(1, {"/below/f", 0, 400, 400}).dropped = {1};
    process.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99});
    expect(process, 400, true, "the file in the overlay is read first, and the other is back then");
    process.entries = 200;
    expect(process, 400, true, "there are too many pages to read them again");
}

TEST(Droppable, AsksAgainIfAMappingMayHaveDroppedThePageMeanwhile) {
    constexpr int kQuestion = 3;  // after two readings
    Unnumbered process;
    process.add(1, {"/below/f", 0, 400, 400}).by_others = true;
    Unnumbered::Shown &other = process.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99});
    other.by_others = true;
    other.dropped = {kQuestion};
    expect(process, 400, true, "it has the page when the second question is asked");
    EXPECT_EQ(process.asked, 2);
    process.busy = true;
    other.dropped = {};
    expect(process, 400, true, "the first answer shows both");
    EXPECT_EQ(process.asked, 1);
    other.file = 2;
    expect(process, 800, true, "no answer shows both");
    EXPECT_EQ(process.asked, 5);
    process.busy = false;
    expect(process, 800, true, "without page faults the first answer is right");
    EXPECT_EQ(process.asked, 1);
}

TEST(Droppable, ReadsPagesAgainThatAreMappedOnce) {
    for (const bool busy : {false, true}) {
        Unnumbered process;
        process.busy = busy;
        process.add(1, {"/below/f", 0, 400, 400});
        process.add(2, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99});
        expect(process, 800, true, "two files");
        EXPECT_EQ(process.asked, 0);
    }
}

TEST(Droppable, DoesNotTakeASnapshotForTheFile) {
    Unnumbered process;
    process.add(1, {"/a/f", 0, 400, 400, 0, 0, "rd", kBtrfs, 257}).by_others = true;
    process.add(2, {"/b/f", 0, 400, 400, 0, 0, "rd", kBtrfs, 257}).by_others = true;
    process.add(2, {"/b/f", 0, 400, 400, 0, 0, "rd", kBtrfs, 257}).by_others = true;
    process.add(2, {"/b/link", 0, 400, 400, 0, 0, "rd", kBtrfs, 257}).by_others = true;
    expect(process, 800, true, "subvolumes use the same inode numbers");
}

TEST(Droppable, DoesNotOpenAFileThatAProgramServes) {
    Devices devices = with_overlay();
    devices.fuse.insert(kOverlay);
    for (const bool below_opens : {true, false}) {
        Unnumbered process;
        process.add(1, {"/below/f", 0, 400, 400}).can_be_opened = below_opens;
        process.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99});
        process.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99});
        expect(process, below_opens ? 400 : 800, below_opens, "the file below shows both", devices);
        EXPECT_EQ(process.asked, 1);
    }
}

TEST(Droppable, AsksOnceForEachPairOfFiles) {
    Unnumbered process;
    for (int i = 0; i < 40; ++i) {
        process.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99});
        process.add(1 + i % 2, {"/below/f", 0, 400, 400});
    }
    process.count(with_overlay());
    EXPECT_LE(process.asked, 3) << "and not at each of the 100 offsets";
}

TEST(Droppable, KnowsTheFilesByTheirFirstPagesIfThereAreTooMany) {
    for (const bool numbered : {false, true}) {
        Unnumbered process;
        process.numbered = numbered;
        for (int i = 0; i < 10; ++i) {
            process.add(1, {"/below/f", 0, 400, 400}).by_others = true;
            process.add(1 + i % 2, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99}).by_others = true;
            process.add(2, {"/f", 200, 200, 200, 0, 0, "rd", kOverlay, 99}).by_others = true;
        }
        process.entries = 500;
        expect(process, 800, true, "the file, and its copy in a higher layer");
        process.entries = 500;
        process.reserve = 30;
        expect(process, 800, false, "these are too many, too");
    }
    Unnumbered process;
    process.add(1, {"/below/f", 0, 400, 400}).can_be_opened = false;
    process.add(1, {"/f", 0, 400, 400, 0, 0, "rd", kOverlay, 99}).can_be_opened = false;
    process.entries = 50;
    expect(process, 800, false, "neither file can be opened");
}

TEST(Droppable, AsksForTheFilesOfTheDeviceThatHasFewest) {
    Unnumbered process;
    for (int i = 0; i < 60; ++i) {
        process.add(i, {"/f", 0, 40, 40, 0, 0, "rd", kOverlay, 100U + static_cast<std::uint64_t>(i)}).by_others = true;
        if (i % 20 == 7)
            process.add(100 + i, {"/below/f", 0, 40, 40, 0, 0, "rd", "08:01", 500U + static_cast<std::uint64_t>(i)})
                .by_others = true;
    }
    expect(process, 63 * 40, true, "63 files");
    EXPECT_EQ(process.asked, 3);
}

TEST(Droppable, IsNoPageThatAnotherMappingLocks) {
    EXPECT_EQ(of_files({{"/f", 0, 1600, 1600}, {"/f", 0, 1600, 1600, 0, 0, "rd lo"}}), Kilobytes{0});
    EXPECT_EQ(of_files({{"/f", 0, 1600, 1600}, {"/f", 400, 400, 300, 100, 0, "rd lo"}}), Kilobytes{1200});
    EXPECT_EQ(of_files({{"/f", 0, 1600, 1600}, {"/f", 400, 400, 300, 0, 0, "rd lo"}}), Kilobytes{1600})
        << "it is not known which of the 400 kB are locked";
    std::vector<Mapping> mappings{mapped({"/f", 0, 60, 50})};
    mappings[0].fields.locked = Kilobytes{50};
    EXPECT_EQ(droppable(mappings, kMounted).file, Kilobytes{0});
}

TEST(Droppable, IsAnonymousMemoryThatWasGivenUp) {
    Mapping mapping;
    mapping.perms = "rw-p";
    mapping.device = "00:00";
    mapping.size = Kilobytes{100};
    mapping.fields.rss = mapping.fields.anonymous = mapping.fields.private_clean = Kilobytes{100};
    mapping.fields.lazy_free = Kilobytes{60};
    const auto given_up = [&](const char *flags) {
        mapping.vm_flags = flags;
        return droppable({mapping}, kMounted);
    };
    EXPECT_EQ(given_up("rd wr ac").anon, Kilobytes{60});
    EXPECT_EQ(given_up("rd wr ac").file, Kilobytes{0}) << "clean anonymous memory is no page of a file";
    EXPECT_EQ(given_up("rd wr lo ac").anon, Kilobytes{0});
    EXPECT_EQ(given_up("rd wr wf dp").anon, Kilobytes{100});
}

TEST(Droppable, IsAtMostWhatEveryKernelCalledCleanOrLazilyFreed) {
    for (const char *kernel : {"5.10", "6.1", "6.12", "6.18", "7.x"}) {
        const auto mappings = parse_smaps(test::golden(std::string(kernel) + "/smaps"));
        ASSERT_TRUE(mappings.ok()) << kernel;
        const MapSums all = sums(*mappings, kMounted);
        EXPECT_EQ(all.droppable, all.droppable_file + all.droppable_anon) << kernel;
        EXPECT_LE(all.droppable, all.shared_clean + all.private_clean + all.lazy_free) << kernel;
    }
}

TEST(Devices, KnowWhichFileSystemsKeepTheirPages) {
    const auto mounts = parse_mountinfo(
        "36 35 0:48 / /r rw - ramfs none rw\n"
        "37 35 259:0 / /pmem rw - xfs /dev/pmem0 rw,attr2,dax=always,inode64\n"
        "38 35 259:1 / /inode rw - xfs /dev/pmem1 rw,dax=inode,nodax\n"
        "39 35 8:1 / / rw - ext4 /dev/sda1 rw\n");
    ASSERT_TRUE(mounts.ok());
    Devices devices;
    devices.add(*mounts);
    EXPECT_EQ(devices.kept_in_memory, (std::set<std::string, std::less<>>{"00:30", "103:00"}));
    EXPECT_EQ(devices.others.size(), 4U);
}

TEST(Devices, KnowWhichFileSystemsMayShowAPageTwice) {
    const auto mounts = parse_mountinfo(
        "36 35 0:48 / /a rw - overlay o rw,lowerdir=/b,metacopy=on\n"
        "37 35 0:49 / /c rw - btrfs /dev/sda rw,subvolid=5\n"
        "38 35 0:50 / /d rw - fuse.fuse-overlayfs f rw\n"
        "39 35 0:51 / /e rw - overlay o rw,lowerdir=/b::/data\n"
        "40 35 0:52 / /f rw - overlay o rw,lowerdir+=/b,datadir+=/data\n"
        "41 35 0:53 / /g rw - erofs /dev/sdb ro\n"
        "42 35 0:54 / /h rw - fusectl f rw\n");
    ASSERT_TRUE(mounts.ok());
    Devices devices;
    devices.add(*mounts);
    using Names = std::set<std::string, std::less<>>;
    EXPECT_EQ(devices.stacked, (Names{"00:30", "00:32", "00:33", "00:34", "00:35"}));
    EXPECT_EQ(devices.fuse, Names{"00:32"});
    EXPECT_EQ(devices.data_layers, (Names{"00:33", "00:34"}));
    EXPECT_EQ(devices.subvolumes, Names{"00:31"});
}

}  // namespace
}  // namespace rsslag::procfs
