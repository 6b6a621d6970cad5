// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/droppable.h"

#include <algorithm>
#include <array>
#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace rsslag::procfs {

namespace {

using core::Kilobytes;

bool is_locked(const Mapping &mapping) {
    return mapping.has_flag("lo") || or_zero(mapping.fields.locked).n > 0;
}

bool is_of_disk(const Mapping &mapping, const Devices &devices) {
    // An unknown file system may be on a disk: the result is an upper bound.
    const Backing backing = backing_of(mapping, devices);
    if (backing != Backing::File && backing != Backing::Unknown) return false;
    if (is_of_driver(mapping) || devices.is_character_node(mapping)) return false;
    return devices.is_block_node(mapping) || !devices.kept_in_memory.contains(mapping.device);
}

/// Written pages of a private file mapping are anonymous. Some of them may be clean and must not count here.
Kilobytes clean_of_file(const Mapping &mapping) {
    const SmapsFields &fields = mapping.fields;
    const Kilobytes clean = or_zero(fields.shared_clean) + or_zero(fields.private_clean);
    return std::min({clean, or_zero(fields.rss) - or_zero(fields.anonymous), mapping.size});
}

/// A mapped range of a file, as offsets in kB. A locked range has no clean pages.
struct MappedPart {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t address = 0;
    std::uint64_t clean = 0, dirty = 0;
    bool locked = false, locked_whole = false;
};

/// The largest number of distinct clean pages that the parts may have, given the range and the clean pages of each. A
/// page of the file counts once, and not at all if it is locked. Greedy: in ascending order of offsets, each page is
/// assigned to the open part that ends first.
std::uint64_t most_pages(const std::vector<MappedPart> &parts) {
    std::vector<std::uint64_t> bounds;
    for (const MappedPart &part : parts) {
        bounds.push_back(part.begin);
        bounds.push_back(part.end);
    }
    std::sort(bounds.begin(), bounds.end());
    using Left = std::pair<std::uint64_t, std::uint64_t>;  // end, clean kB that are not placed yet
    std::priority_queue<Left, std::vector<Left>, std::greater<>> open;
    std::uint64_t placed = 0;
    std::uint64_t locked_until = 0;
    auto next = parts.begin();
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
        const std::uint64_t from = bounds[i];
        for (; next != parts.end() && next->begin <= from; ++next) {
            if (next->locked_whole) locked_until = std::max(locked_until, next->end);
            if (next->clean > 0) open.emplace(next->end, next->clean);
        }
        std::uint64_t space = locked_until > from ? 0 : bounds[i + 1] - from;
        while (!open.empty() && (space > 0 || open.top().first <= from)) {
            const auto [end, left] = open.top();
            open.pop();
            const std::uint64_t taken = end <= from ? 0 : std::min(space, left);
            placed += taken;
            space -= taken;
            if (end > from && left > taken) open.emplace(end, left - taken);
        }
    }
    return placed;
}

using FileRange = std::pair<std::uint64_t, std::uint64_t>;

/// The ranges of the file that at least two parts cover: disjoint, ascending. `parts` must be sorted by begin.
std::vector<FileRange> covered_twice(const std::vector<MappedPart> &parts) {
    std::vector<FileRange> twice;
    std::uint64_t reach = 0;
    for (const MappedPart &part : parts) {
        const std::uint64_t end = std::min(part.end, reach);
        if (part.begin < end) {
            if (twice.empty() || twice.back().second < part.begin) twice.emplace_back(part.begin, end);
            twice.back().second = std::max(twice.back().second, end);
        }
        reach = std::max(reach, part.end);
    }
    return twice;
}

/// How many kB the sum over all parts that are not locked contains too often. These are pages in several such parts,
/// and pages that are also in a locked part. nullopt if pagemap cannot be read.
std::optional<std::uint64_t> counted_again(const std::vector<MappedPart> &parts, const std::vector<FileRange> &twice,
                                           const FilePages &pages) {
    std::vector<std::pair<std::uint64_t, bool>> held;  // offset, not locked: sorts pages of locked parts first
    for (const MappedPart &part : parts) {
        auto range = std::ranges::upper_bound(twice, part.begin, {}, &FileRange::second);
        for (; range != twice.end() && range->first < part.end; ++range) {
            const std::uint64_t from = std::max(range->first, part.begin) - part.begin;
            const std::uint64_t to = std::min(range->second, part.end) - part.begin;
            const bool read =
                pages.visit(part.address + from * 1024, part.address + to * 1024, [&](const FilePages::Page &page) {
                    held.emplace_back(part.begin * 1024 + (page.address - part.address), !part.locked);
                });
            if (!read) return std::nullopt;
        }
    }
    std::sort(held.begin(), held.end());
    std::int64_t again = 0;
    for (std::size_t i = 0; i < held.size(); ++i) {
        const bool first = i == 0 || held[i - 1].first != held[i].first;
        if (!first && held[i].second) ++again;
    }
    return static_cast<std::uint64_t>(pages.page_size.kb(core::Pages{again}).n);
}

using FileParts = std::vector<MappedPart>;

struct File {
    const Mapping *mapping = nullptr;  ///< one of its mappings
    bool stacked = false;              ///< on a device of Devices::stacked
    bool metacopy = false;             ///< on a device of Devices::metacopy
    FileParts parts;
};

/// Pages of an overlay's file are those of a file below it, which may be mapped by another path. Returns how many kB
/// the sum over the files contains too often for this reason, at least. nullopt without frame numbers.
std::optional<std::uint64_t> counted_by_other_files(const std::vector<File> &files, const FilePages &pages) {
    struct Held {
        std::uint64_t frame = 0;
        std::size_t file = 0;
        bool counts = false;
        auto operator<=>(const Held &) const = default;
    };
    std::vector<Held> held;
    for (std::size_t i = 0; i < files.size(); ++i) {
        for (const MappedPart &part : files[i].parts) {
            bool numbered = true;
            const std::uint64_t end = part.address + (part.end - part.begin) * 1024;
            const bool read = pages.visit(part.address, end, [&](const FilePages::Page &page) {
                held.push_back({page.frame, i, !part.locked});
                numbered = numbered && page.frame != 0;
            });
            if (!read || !numbered) return std::nullopt;
        }
    }
    std::sort(held.begin(), held.end());
    std::uint64_t again = 0;
    std::vector<bool> shares(files.size());
    for (std::size_t i = 0; i < held.size();) {
        const std::uint64_t frame = held[i].frame;
        const std::size_t first = i;
        std::uint64_t counting = 0;  // files whose sums contain this page
        bool locked = false;
        while (i < held.size() && held[i].frame == frame) {
            const std::size_t file = held[i].file;
            const bool counts = held[i].counts;  // in all parts of this file: false sorts first
            while (i < held.size() && held[i].frame == frame && held[i].file == file)
                ++i;
            counting += counts ? 1 : 0;
            locked = locked || !counts;
        }
        again += counting - (locked || counting == 0 ? 0 : 1);
        if (held[first].file == held[i - 1].file) continue;
        for (std::size_t each = first; each < i; ++each)
            shares[held[each].file] = true;
    }
    again = static_cast<std::uint64_t>(pages.page_size.kb(core::Pages{static_cast<std::int64_t>(again)}).n);
    std::uint64_t dirty = 0;  // all of these may be among the pages that count again
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (!shares[i]) continue;
        for (const MappedPart &part : files[i].parts)
            dirty += part.dirty;
    }
    return again - std::min(again, dirty);
}

enum class Same { No, Yes, Unknown };

/// Whether a page may be one of both files: no page that both have in memory at one offset is mapped only once. False
/// if pagemap cannot be read.
bool may_have_pages_in_common(const File &a, const File &b, const FilePages &pages) {
    if (!pages.visit) return false;
    std::unordered_map<std::uint64_t, bool> exclusive;  // by offset, of a
    bool common = true;
    const auto each_page = [&](const File &file, const auto &take) {
        for (const MappedPart &part : file.parts) {
            const std::uint64_t end = part.address + (part.end - part.begin) * 1024;
            const bool read = pages.visit(part.address, end, [&](const FilePages::Page &page) {
                take(part.begin * 1024 + (page.address - part.address), page.exclusive);
            });
            common = common && read;
        }
    };
    each_page(a, [&](std::uint64_t offset, bool once) { exclusive.emplace(offset, once); });
    each_page(b, [&](std::uint64_t offset, bool once) {
        const auto of_a = exclusive.find(offset);
        if (of_a != exclusive.end() && (once || of_a->second)) common = false;
    });
    return common;
}

/// Whether two files of one size have the same pages, by the places of their data. A place is that on a device, and
/// which device an overlay's file is on is not known: a page that is mapped only once shows that there are two files.
Same have_same_extents(const File &overlaid, const File &lower, const FilePages &pages) {
    if (!pages.extents) return Same::Unknown;
    const auto first = pages.extents(*overlaid.mapping);
    const auto of_lower = pages.extents(*lower.mapping);
    // The file system may move the data meanwhile.
    if (!first || !of_lower || pages.extents(*overlaid.mapping) != first) return Same::Unknown;
    if (*first != *of_lower) return Same::No;
    if (first->first.empty() || first->shared) return Same::Unknown;
    return may_have_pages_in_common(overlaid, lower, pages) ? Same::Yes : Same::Unknown;
}

/// Whether `lower` is the file whose pages `overlaid`, a file on an overlay, shows. Equal sizes and times alone prove
/// nothing: the kernel may create several files with one time stamp.
Same have_same_stamps(const File &overlaid, const FileStamp &of_overlaid, const File &lower,
                      const FileStamp &of_lower) {
    if (of_overlaid.size != of_lower.size) return Same::No;
    const bool times_differ =
        of_overlaid.modified != of_lower.modified || of_overlaid.status_changed != of_lower.status_changed;
    const bool metacopy = overlaid.metacopy || lower.metacopy;
    if (metacopy && (times_differ || of_overlaid.blocks != of_lower.blocks)) return Same::Unknown;
    if (times_differ) return Same::No;
    const auto last_part = [](const std::string &path) { return std::string_view(path).substr(path.rfind('/') + 1); };
    // The inode number differs if the file was copied up or the layers are on several file systems.
    const bool one_name = last_part(overlaid.mapping->name) == last_part(lower.mapping->name);
    const bool one_inode = of_overlaid.inode == of_lower.inode;
    const bool linked = of_overlaid.links > 1 && of_overlaid.links == of_lower.links;
    return one_inode || one_name || linked ? Same::Yes : Same::Unknown;
}

/// Moves the parts of each file to the file on an overlay that has the same pages, as their attributes and the places
/// of their data show. Returns false if other files may have pages in common, too.
bool merge_same_files(std::vector<File> &files, const FilePages &pages) {
    std::stable_partition(files.begin(), files.end(), [](const File &file) { return file.stacked; });
    std::unordered_multimap<std::int64_t, std::pair<File *, FileStamp>> of_overlays;  // by size
    bool certain = true;
    for (File &file : files) {
        const auto stamp = pages.stamp ? pages.stamp(*file.mapping) : std::nullopt;
        if (!stamp) {
            certain = false;
            continue;
        }
        const auto [begin, end] = of_overlays.equal_range(stamp->size);
        for (auto at = begin; at != end; ++at) {
            const auto &[other, its_stamp] = at->second;
            if (other->mapping->device == file.mapping->device) continue;
            Same same = have_same_stamps(*other, its_stamp, file, *stamp);
            if (same == Same::Unknown) same = have_same_extents(*other, file, pages);
            certain = certain && same != Same::Unknown;
            if (same != Same::Yes) continue;
            other->parts.insert(other->parts.end(), file.parts.begin(), file.parts.end());
            file.parts.clear();
            break;
        }
        if (file.stacked) of_overlays.emplace(stamp->size, std::pair{&file, *stamp});
    }
    return certain;
}

std::uint64_t clean_pages(FileParts &parts, const FilePages &pages) {
    std::ranges::sort(parts, {}, &MappedPart::begin);
    const std::uint64_t most = most_pages(parts);
    const std::vector<FileRange> twice = covered_twice(parts);
    if (twice.empty() || !pages.visit) return most;
    const auto again = counted_again(parts, twice, pages);
    if (!again) return most;
    std::uint64_t clean = 0;
    std::uint64_t dirty = 0;  // all of these may be among the pages that count again
    for (const MappedPart &part : parts) {
        clean += part.clean;
        dirty += part.dirty;
    }
    const std::uint64_t surely = *again - std::min(*again, dirty);
    return std::min(most, clean - std::min(clean, surely));
}

Kilobytes anonymous(const Mapping &mapping) {
    if (is_locked(mapping)) return {};
    // Pages of a VM_DROPPABLE mapping (6.11) are dropped even if they are dirty.
    if (mapping.has_flag("dp")) return or_zero(mapping.fields.anonymous);
    return or_zero(mapping.fields.lazy_free);
}

File new_file(const Mapping &mapping, const Devices &devices) {
    return {&mapping, devices.stacked.contains(mapping.device), devices.metacopy.contains(mapping.device), {}};
}

/// Identifies the file independently of its names.
std::string file_of(const Mapping &mapping) {
    return mapping.device + ' ' + std::to_string(mapping.inode);
}

}  // namespace

bool is_of_driver(const Mapping &mapping) {
    constexpr std::array<std::string_view, 4> kFlags{"io", "pf", "mm", "de"};
    const auto has = [&](std::string_view flag) { return mapping.has_flag(flag); };
    return std::ranges::any_of(kFlags, has) || !mapping.name.starts_with('/');
}

Droppable droppable(const std::vector<Mapping> &mappings, const Devices &devices, const FilePages &pages) {
    Droppable all;
    std::unordered_map<std::string, std::size_t> index;
    std::vector<File> files;
    std::set<std::string_view> file_systems;
    for (const Mapping &mapping : mappings) {
        all.anon += anonymous(mapping);
        const Kilobytes of_file = or_zero(mapping.fields.rss) - or_zero(mapping.fields.anonymous);
        if (of_file.n <= 0 || !has_file(mapping) || !is_of_disk(mapping, devices)) continue;
        const std::uint64_t begin = mapping.offset / 1024;
        MappedPart part{begin, begin + static_cast<std::uint64_t>(mapping.size.n), mapping.start};
        const auto clean = std::max<std::int64_t>(clean_of_file(mapping).n, 0);
        part.locked = is_locked(mapping);
        part.locked_whole = part.locked && of_file == mapping.size;
        if (!part.locked) part.clean = static_cast<std::uint64_t>(clean);
        if (!part.locked) part.dirty = static_cast<std::uint64_t>(of_file.n - clean);
        const auto [file, added] = index.emplace(file_of(mapping), files.size());
        if (added) files.push_back(new_file(mapping, devices));
        files[file->second].parts.push_back(part);
        file_systems.insert(mapping.device);
    }
    std::uint64_t again = 0;
    if (file_systems.size() > 1 && std::ranges::any_of(files, &File::stacked)) {
        const auto by_frame = pages.visit ? counted_by_other_files(files, pages) : std::nullopt;
        if (by_frame)
            again = *by_frame;
        else
            all.each_once = merge_same_files(files, pages);
    }
    std::uint64_t clean = 0;
    for (File &file : files)
        clean += clean_pages(file.parts, pages);
    all.file = Kilobytes{static_cast<std::int64_t>(clean - std::min(clean, again))};
    return all;
}

}  // namespace rsslag::procfs
