// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/droppable.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <span>
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
    const Mapping *mapping = nullptr;
    std::uint64_t begin = 0, end = 0;
    std::uint64_t clean = 0, dirty = 0;
    bool locked = false, locked_whole = false;
};
using MappedParts = std::vector<MappedPart>;

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

using FileRange = std::pair<std::uint64_t, std::uint64_t>;

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

/// A page of a file that a part has.
struct Held {
    std::uint64_t offset = 0;  ///< in the file, in bytes
    std::size_t part = 0;
    std::uint64_t number = 0;  ///< of the page: its frame, or what PageNumbers assigns
    bool exclusive = false;
};

/// Identifies the file of a mapping, so that equal ids mean equal pages. nullopt: smaps does not show that.
std::optional<std::string> file_id(const Mapping &mapping, const Devices &devices) {
    // A file on an overlay may have been copied up since another mapping of it was made.
    if (devices.stacked.contains(mapping.device) && !devices.fuse.contains(mapping.device)) return std::nullopt;
    std::string id = mapping.device + ' ' + std::to_string(mapping.inode);
    if (devices.subvolumes.contains(mapping.device)) id += ' ' + mapping.name;
    return id;
}

/// Whether the mappings, which have different ids, may show the same pages.
bool may_be_same(const Mapping &a, const Mapping &b, const Devices &devices) {
    if (a.device != b.device) return devices.stacked.contains(a.device) || devices.stacked.contains(b.device);
    return a.inode == b.inode || devices.data_layers.contains(a.device);
}

/// Numbers pages whose frames are not known: two pages of one number are the same.
class PageNumbers {
  public:
    PageNumbers(const MappedParts &parts, const Devices &devices, const FilePages &pages)
        : parts_(parts), devices_(devices), pages_(pages), parent_(parts.size()) {
        std::unordered_map<std::string, std::size_t> first;
        for (std::size_t part = 0; part < parts.size(); ++part) {
            const auto id = file_id(*parts[part].mapping, devices);
            parent_[part] = id ? first.emplace(*id, part).first->second : part;
        }
    }

    /// Part `part` is of the same file as the part with this index. The index is that of one of them.
    std::size_t root(std::size_t part) const {
        while (parent_[part] != part)
            part = parent_[part];
        return part;
    }

    /// Whether no two parts with different roots may show the same page.
    bool knows_all() const {
        std::map<std::size_t, FileRange> files;
        for (std::size_t part = 0; part < parts_.size(); ++part) {
            const auto [file, added] = files.emplace(root(part), FileRange{parts_[part].begin, parts_[part].end});
            file->second.second = std::max(file->second.second, parts_[part].end);  // parts ascend by begin
        }
        for (auto a = files.begin(); a != files.end(); ++a)
            for (auto b = std::next(a); b != files.end(); ++b)
                if (a->second.first < b->second.second && b->second.first < a->second.second &&
                    is_open(a->first, b->first))
                    return false;
        return true;
    }

    /// Numbers the pages that have no frame number. Returns false if pages with different numbers may be the same.
    /// Sorts `held` by offset.
    bool assign(std::vector<Held> &held) {
        std::ranges::sort(held, {}, [](const Held &page) { return std::pair(page.offset, page.part); });
        for (auto begin = held.begin(); begin != held.end();) {
            const auto end =
                std::find_if(begin, held.end(), [&](const Held &page) { return page.offset > begin->offset; });
            assign_at_one_offset({begin, end});
            begin = end;
        }
        return certain_;
    }

  private:
    using Holder = std::pair<std::size_t, std::size_t>;  ///< the root of a file, a part of it that has the page
    using Holders = std::map<std::size_t, std::size_t>;  ///< as Holder

    void unite_by_frame(std::span<const Held> pages) {
        Holders holders;
        std::map<std::uint64_t, std::set<std::uint64_t>> mappers;
        for (const Held &page : pages) {
            holders.emplace(root(page.part), page.part);
            mappers[page.number].insert(parts_[page.part].mapping->start);
        }
        for (const auto &[frame, of_frame] : mappers)
            unite(holders, of_frame);
    }

    void assign_at_one_offset(std::span<Held> pages) {
        if (pages.front().number != 0) return unite_by_frame(pages);
        Holders holders;  // a page that is mapped only once is not that of another mapping
        for (const Held &page : pages)
            if (!page.exclusive || has_pmd(page.part)) holders.emplace(root(page.part), page.part);
        if (holders.size() > 1) settle(std::move(holders), pages.front().offset);
        std::unordered_map<std::size_t, std::uint64_t> numbers;
        for (Held &page : pages)
            page.number = numbers.emplace(root(page.part), ++next_).first->second;
    }

    /// Whether a PMD entry may map pages of the part. Until 6.11, all its pages were "mapped exactly once" if the first
    /// one was (2c1f057e5be6).
    bool has_pmd(std::size_t part) const { return or_zero(parts_[part].mapping->fields.file_pmd_mapped).n > 0; }

    bool is_open(std::size_t a, std::size_t b) const {
        return a != b && may_be_same(*parts_[a].mapping, *parts_[b].mapping, devices_) &&
               !different_.contains(std::minmax(a, b));
    }

    /// Those on the devices with the fewest files come first: if all of these are known, so are the others.
    std::vector<Holder> in_order(const Holders &holders) const {
        const auto device = [&](const auto &holder) -> const std::string & {
            return parts_[holder.second].mapping->device;
        };
        std::map<std::string_view, std::size_t> files;
        for (const auto &holder : holders)
            ++files[device(holder)];
        std::vector<Holder> order(holders.begin(), holders.end());
        std::stable_sort(order.begin(), order.end(),
                         [&](const auto &a, const auto &b) { return files[device(a)] < files[device(b)]; });
        return order;
    }

    /// Finds out which of the files have the same page at this offset.
    void settle(Holders holders, std::uint64_t offset) {
        const auto is_open_with_any = [&](const auto &one) {
            return std::ranges::any_of(holders, [&](const auto &other) { return is_open(one.first, other.first); });
        };
        if (std::ranges::none_of(holders, is_open_with_any)) return;
        for (const auto &asked : in_order(holders)) {
            if (!holders.contains(asked.first) || !is_open_with_any(asked)) continue;
            const Mapping &mapping = *parts_[asked.second].mapping;
            if (devices_.fuse.contains(mapping.device) || refused_.contains(asked.second)) continue;
            const auto mappers = pages_.mappers ? pages_.mappers(mapping, to_ask(holders, offset)) : std::nullopt;
            if (!mappers) {
                refused_.insert(asked.second);
                continue;
            }
            Holders seen = holders;
            std::erase_if(seen, [&](const auto &holder) {
                return !mappers->contains(parts_[holder.second].mapping->start) &&
                       !would_be_seen(holder.second, offset);
            });
            unite(seen, *mappers);
            drop_united(holders);
        }
        certain_ = certain_ && std::ranges::none_of(holders, is_open_with_any);
    }

    /// The offsets where a mapping that has the page at `offset` is seen, by whatever entry it has the page.
    std::set<std::uint64_t> to_ask(const Holders &holders, std::uint64_t offset) const {
        std::set<std::uint64_t> offsets{offset};
        const bool by_pmd = std::ranges::any_of(holders, [&](const auto &holder) { return has_pmd(holder.second); });
        if (by_pmd && pages_.pmd_bytes > 0) offsets.insert(offset - offset % pages_.pmd_bytes);
        return offsets;
    }

    /// Whether the part still has a page at `offset`, and mappers() sees by which entry. Since the pages were read,
    /// reclaim may have taken it, or khugepaged may have made a huge page of it, which the part has only after its next
    /// fault.
    bool would_be_seen(std::size_t part, std::uint64_t offset) const {
        if (has_pmd(part) && pages_.pmd_bytes == 0) return false;
        const Mapping &mapping = *parts_[part].mapping;
        const std::uint64_t address = mapping.start + (offset - mapping.offset);
        bool has = false;
        const auto found = [&has](const FilePages::Page & /*page*/) { has = true; };
        return pages_.visit(address, address + static_cast<std::uint64_t>(pages_.page_size.bytes), found) && has;
    }

    /// Those of `holders` that are among the mappings of one page are one file, and the others are other files.
    void unite(Holders &holders, const std::set<std::uint64_t> &mappers) {
        std::optional<std::size_t> first;
        for (const auto &[file, part] : holders) {
            if (!mappers.contains(parts_[part].mapping->start)) continue;
            if (!first) first = file;
            parent_[file] = *first;
        }
        drop_united(holders);
        for (const auto &[file, part] : holders)
            if (first && file != *first) different_.insert(std::minmax(file, *first));
    }

    void drop_united(Holders &holders) const {
        std::erase_if(holders, [this](const auto &holder) { return root(holder.first) != holder.first; });
    }

    const MappedParts &parts_;
    const Devices &devices_;
    const FilePages &pages_;
    std::vector<std::size_t> parent_;  ///< of each part: a part of the same file; a root is its own
    std::set<std::pair<std::size_t, std::size_t>> different_;  ///< roots
    std::set<std::size_t> refused_;                            ///< parts whose file cannot be opened
    std::uint64_t next_ = 0;
    bool certain_ = true;
};

/// The pages of the parts in ranges that at least two of them cover. nullopt if pagemap cannot be read.
std::optional<std::vector<Held>> pages_in(const std::vector<FileRange> &ranges, const MappedParts &parts,
                                          const FilePages &pages) {
    if (!pages.visit) return std::nullopt;
    std::vector<Held> held;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const MappedPart &part = parts[i];
        const std::uint64_t start = part.mapping->start;
        auto range = std::ranges::upper_bound(ranges, part.begin, {}, &FileRange::second);
        for (; range != ranges.end() && range->first < part.end; ++range) {
            const std::uint64_t from = start + (std::max(range->first, part.begin) - part.begin) * 1024;
            const std::uint64_t to = start + (std::min(range->second, part.end) - part.begin) * 1024;
            const bool read = pages.visit(from, to, [&](const FilePages::Page &page) {
                held.push_back({part.begin * 1024 + (page.address - start), i, page.frame, page.exclusive});
            });
            if (!read) return std::nullopt;
        }
    }
    return held;
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
    bool certain = true;  ///< no page is contained twice
};

std::uint64_t sum_of_clean(const MappedParts &parts) {
    std::uint64_t sum = 0;
    for (const MappedPart &part : parts)
        sum += part.clean;
    return sum;
}

/// Without pagemap, of parts with one device and inode number: that equal names are those of one file is likely.
Clean probably_clean(const MappedParts &parts) {
    const auto has_the_name = [&](const MappedPart &part) { return part.mapping->name == parts[0].mapping->name; };
    return {std::ranges::all_of(parts, has_the_name) ? most_pages(parts) : sum_of_clean(parts), false};
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

/// Without all pages, as they are too many: the most clean pages that the files may have. The first pages of each part
/// show which parts are of one file.
std::optional<Clean> most_by_file(const MappedParts &parts, const Devices &devices, const FilePages &pages) {
    constexpr std::uint64_t kSampleKb = 64;
    std::vector<FileRange> sample;
    for (const MappedPart &part : parts)
        if (sample.empty() || sample.back().second <= part.begin)
            sample.emplace_back(part.begin, part.begin + kSampleKb);
    auto held = pages_in(sample, parts, pages);
    if (!held) return std::nullopt;
    PageNumbers numbers(parts, devices, pages);
    numbers.assign(*held);
    return Clean{most_of_files(parts, numbers), numbers.knows_all()};
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
    auto held = pages_in(twice, parts, pages);
    if (!held) return one_file ? Clean{most_pages(parts)} : most_by_file(parts, devices, pages);
    const bool changed = some_are_gone(*held, twice, parts, pages.page_size);  // and are in the sum nevertheless
    PageNumbers numbers(parts, devices, pages);
    const bool certain = numbers.assign(*held) && (!changed || numbers.knows_all());
    const std::uint64_t once = sum - std::min(sum, counted_again(*held, parts, pages.page_size));
    return Clean{std::min(most_of_files(parts, numbers), once), certain};
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
        all.each_once = all.each_once && found.certain;
    };
    if (may_share_pages(files, devices)) {
        MappedParts together;
        for (const auto &[file, parts] : files)
            together.insert(together.end(), parts.begin(), parts.end());
        if (const auto found = clean_pages(together, devices, pages)) return keep(*found), all;
        all.each_once = false;
    }
    for (auto &[file, parts] : files)
        keep(clean_pages(parts, devices, pages).value_or(probably_clean(parts)));
    return all;
}

}  // namespace rsslag::procfs
