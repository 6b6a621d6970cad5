// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/droppable.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string_view>
#include <utility>

#include "procfs/page_numbers.h"

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

/// The largest number of distinct clean pages that the parts may have, given the range and the clean pages of each. A
/// page of the file counts once, and not at all if it is locked. Greedy: in ascending order of offsets, each page is
/// assigned to the open part that ends first.
std::uint64_t most_pages(const MappedParts &parts) {
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

/// The ranges of offsets that at least two parts cover: disjoint, ascending. `parts` must be sorted by begin.
std::vector<FileRange> covered_twice(const MappedParts &parts) {
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

/// Whether some part has fewer pages in `held` than smaps counted before: the process or reclaim has dropped them.
bool some_are_gone(const std::vector<Held> &held, const std::vector<FileRange> &ranges, const MappedParts &parts,
                   const core::PageSize &page_size) {
    std::vector<core::Pages> found(parts.size());
    for (const Held &page : held)
        ++found[page.part].n;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const MappedPart &part = parts[i];
        std::uint64_t outside = part.end - part.begin;
        auto range = std::ranges::upper_bound(ranges, part.begin, {}, &FileRange::second);
        for (; range != ranges.end() && range->first < part.end; ++range)
            outside -= std::min(range->second, part.end) - std::max(range->first, part.begin);
        if (static_cast<std::uint64_t>(page_size.kb(found[i]).n) + outside < part.clean + part.dirty) return true;
    }
    return false;
}

/// How many kB the sum over all parts that are not locked surely contains too often. These are pages in several such
/// parts, and pages that are also in a locked part. Dirty pages are in no sum. Sorts `held` by number.
std::uint64_t counted_again(std::vector<Held> &held, const MappedParts &parts, const core::PageSize &page_size) {
    std::ranges::sort(held, {}, &Held::number);
    std::int64_t again = 0;
    std::set<std::size_t> sharing;
    for (auto begin = held.begin(); begin != held.end();) {
        const auto end =
            std::find_if(begin, held.end(), [&](const Held &page) { return page.number != begin->number; });
        const auto counting = std::count_if(begin, end, [&](const Held &page) { return !parts[page.part].locked; });
        const bool locked = counting < end - begin;
        again += counting - (locked || counting == 0 ? 0 : 1);
        if (end - begin > 1)
            for (auto page = begin; page != end; ++page)
                sharing.insert(page->part);
        begin = end;
    }
    std::uint64_t dirty = 0;  // all of these may be among the pages that count again
    for (const std::size_t part : sharing)
        dirty += parts[part].dirty;
    const auto all = static_cast<std::uint64_t>(page_size.kb(core::Pages{again}).n);
    return all - std::min(all, dirty);
}

/// The clean pages of some parts, each page once.
struct Clean {
    std::uint64_t kb = 0;
    std::uint64_t least = kb;  ///< so much of `kb` are different pages
    bool certain = true;       ///< no page is contained twice
};

std::uint64_t sum_of_clean(const MappedParts &parts) {
    std::uint64_t sum = 0;
    for (const MappedPart &part : parts)
        sum += part.clean;
    return sum;
}

/// How many different clean pages the parts have at least, if any two of them may show the same pages. Pss of a page
/// that n mappings have, of whichever processes, is 1/n in each, so its sum over some mappings is at most the number of
/// their pages.
std::uint64_t fewest_pages(const MappedParts &parts) {
    std::int64_t shares = 0;
    std::int64_t largest = 0;
    std::int64_t locked = 0;
    for (const MappedPart &part : parts) {
        const SmapsFields &fields = part.mapping->fields;
        const auto clean = static_cast<std::int64_t>(part.clean);
        if (part.locked) locked += (or_zero(fields.rss) - or_zero(fields.anonymous)).n;
        const std::int64_t others = or_zero(fields.anonymous).n + static_cast<std::int64_t>(part.dirty);
        shares += std::clamp<std::int64_t>(or_zero(fields.pss).n - others, 0, clean);
        largest = std::max(largest, clean);
    }
    return static_cast<std::uint64_t>(std::max<std::int64_t>(std::max(shares, largest) - locked, 0));
}

Clean uncertain(std::uint64_t kb, std::uint64_t least) {
    return {kb, std::min(kb, least), false};
}

using Roots = std::set<std::size_t>;

/// The parts whose roots are in `open`.
MappedParts open_parts(const MappedParts &parts, const PageNumbers &numbers, const Roots &open) {
    MappedParts chosen;
    for (std::size_t part = 0; part < parts.size(); ++part)
        if (open.contains(numbers.root(part))) chosen.push_back(parts[part]);
    return chosen;
}

/// Without pagemap, of parts with one device and inode number: that equal names are those of one file is likely.
Clean probably_clean(const MappedParts &parts) {
    const auto has_the_name = [&](const MappedPart &part) { return part.mapping->name == parts[0].mapping->name; };
    const bool one_file = std::ranges::all_of(parts, has_the_name);
    return uncertain(one_file ? most_pages(parts) : sum_of_clean(parts), fewest_pages(parts));
}

std::uint64_t most_of_files(const MappedParts &parts, const PageNumbers &numbers) {
    std::map<std::size_t, MappedParts> files;
    for (std::size_t part = 0; part < parts.size(); ++part)
        files[numbers.root(part)].push_back(parts[part]);
    std::uint64_t most = 0;
    for (const auto &[root, of_file] : files)
        most += most_pages(of_file);
    return most;
}

/// The parts of files in `open` stay in place, but have no clean pages and lock none.
MappedParts without(MappedParts parts, const PageNumbers &numbers, const Roots &open) {
    for (std::size_t part = 0; part < parts.size(); ++part)
        if (open.contains(numbers.root(part))) {
            parts[part].clean = 0;
            parts[part].locked_whole = false;
        }
    return parts;
}

/// The most clean pages that the files may have, by the ranges of the parts and by the pages that were found in them.
std::uint64_t most_once(const MappedParts &parts, const PageNumbers &numbers, std::vector<Held> &held,
                        const core::PageSize &page_size) {
    const std::uint64_t sum = sum_of_clean(parts);
    const std::uint64_t once = sum - std::min(sum, counted_again(held, parts, page_size));
    return std::min(most_of_files(parts, numbers), once);
}

/// Without all pages, as they are too many: the most clean pages that the files may have. The first pages of each part
/// show which parts are of one file.
std::optional<Clean> most_by_file(const MappedParts &parts, const Devices &devices, const FilePages &pages) {
    constexpr std::uint64_t kSampleKb = 64;
    std::vector<FileRange> sample;
    for (const MappedPart &part : parts)
        if (sample.empty() || sample.back().second <= part.begin)
            sample.emplace_back(part.begin, part.begin + kSampleKb);
    auto read = pages_in(sample, parts, pages, false);
    if (!read) return std::nullopt;
    PageNumbers numbers(parts, devices, pages);
    numbers.assign(*read);
    const std::uint64_t most = most_of_files(parts, numbers);
    const Roots open = numbers.open_roots();
    if (open.empty()) return Clean{most};
    const std::uint64_t known = most_of_files(without(parts, numbers, open), numbers);
    return uncertain(most, known + fewest_pages(open_parts(parts, numbers, open)));
}

/// The parts may be of several files. nullopt if it matters which pages are there, and pagemap cannot be read.
std::optional<Clean> clean_pages(MappedParts &parts, const Devices &devices, const FilePages &pages) {
    std::ranges::sort(parts, {}, &MappedPart::begin);
    const auto first = file_id(*parts.front().mapping, devices);
    const bool one_file = first && std::ranges::all_of(parts, [&](const MappedPart &part) {
                              return file_id(*part.mapping, devices) == first;
                          });
    const std::uint64_t sum = sum_of_clean(parts);
    const std::vector<FileRange> twice = covered_twice(parts);
    if (twice.empty()) return Clean{one_file ? std::min(most_pages(parts), sum) : sum};
    auto read = pages_in(twice, parts, pages, one_file);
    if (!read) return one_file ? Clean{most_pages(parts)} : most_by_file(parts, devices, pages);
    const bool changed = some_are_gone(read->held, twice, parts, pages.page_size);  // and are in the sum nevertheless
    PageNumbers numbers(parts, devices, pages);
    numbers.assign(*read);
    Roots open = numbers.unsettled_roots();
    if (changed) open.merge(numbers.open_roots());
    const std::uint64_t most = most_once(parts, numbers, read->held, pages.page_size);
    if (open.empty()) return Clean{most};
    std::erase_if(read->held, [&](const Held &page) { return open.contains(numbers.root(page.part)); });
    const std::uint64_t known = most_once(without(parts, numbers, open), numbers, read->held, pages.page_size);
    return uncertain(most, known + fewest_pages(open_parts(parts, numbers, open)));
}

using MappedFiles = std::map<std::pair<std::string_view, std::uint64_t>, MappedParts>;  // by device and inode

/// Whether files with other devices or inode numbers may show the same pages.
bool may_share_pages(const MappedFiles &files, const Devices &devices) {
    if (files.size() < 2) return false;
    const std::string_view first = files.begin()->first.first;
    return std::ranges::any_of(files, [&](const auto &file) {
        const std::string_view device = file.first.first;
        const bool several = device != first || files.rbegin()->first.first != device;
        return devices.data_layers.contains(device) || (several && devices.stacked.contains(device));
    });
}

Kilobytes anonymous(const Mapping &mapping) {
    if (is_locked(mapping)) return {};
    // Pages of a VM_DROPPABLE mapping (6.11) are dropped even if they are dirty.
    if (mapping.has_flag("dp")) return or_zero(mapping.fields.anonymous);
    return or_zero(mapping.fields.lazy_free);
}

}  // namespace

bool is_of_driver(const Mapping &mapping) {
    constexpr std::array<std::string_view, 4> kFlags{"io", "pf", "mm", "de"};
    const auto has = [&](std::string_view flag) { return mapping.has_flag(flag); };
    return std::ranges::any_of(kFlags, has) || !mapping.name.starts_with('/');
}

Droppable droppable(const std::vector<Mapping> &mappings, const Devices &devices, const FilePages &pages) {
    Droppable all;
    MappedFiles files;
    for (const Mapping &mapping : mappings) {
        all.anon += anonymous(mapping);
        const Kilobytes of_file = or_zero(mapping.fields.rss) - or_zero(mapping.fields.anonymous);
        if (of_file.n <= 0 || !has_file(mapping) || !is_of_disk(mapping, devices)) continue;
        const std::uint64_t begin = mapping.offset / 1024;
        MappedPart part{&mapping, begin, begin + static_cast<std::uint64_t>(mapping.size.n)};
        const auto clean = std::max<std::int64_t>(clean_of_file(mapping).n, 0);
        part.locked = is_locked(mapping);
        part.locked_whole = part.locked && of_file == mapping.size;
        if (!part.locked) part.clean = static_cast<std::uint64_t>(clean);
        if (!part.locked) part.dirty = static_cast<std::uint64_t>(of_file.n - clean);
        files[{mapping.device, mapping.inode}].push_back(part);
    }
    const auto keep = [&](const Clean &found) {
        all.file += Kilobytes{static_cast<std::int64_t>(found.kb)};
        all.file_surely_once += Kilobytes{static_cast<std::int64_t>(found.least)};
        all.each_once = all.each_once && found.certain;
    };
    if (may_share_pages(files, devices)) {
        MappedParts together;
        std::uint64_t most = 0;
        for (const auto &[file, parts] : files)
            together.insert(together.end(), parts.begin(), parts.end());
        if (const auto found = clean_pages(together, devices, pages)) return keep(*found), all;
        for (auto &[file, parts] : files)
            most += clean_pages(parts, devices, pages).value_or(probably_clean(parts)).kb;
        return keep(uncertain(most, fewest_pages(together))), all;
    }
    for (auto &[file, parts] : files)
        keep(clean_pages(parts, devices, pages).value_or(probably_clean(parts)));
    return all;
}

}  // namespace rsslag::procfs
