// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/page_numbers.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_map>

namespace rsslag::procfs {

namespace {

/// How often to read or ask again while the process has page faults. A process that drops and maps the same page
/// without pause would have to do so at the right moment each time to go unseen.
constexpr int kTimes = 5;

/// nullopt if the page faults of the process are not known.
std::optional<std::uint64_t> faults_of(const FilePages &pages) {
    return pages.faults ? pages.faults() : std::nullopt;
}

/// Without a page fault, a page that is absent in one reading is absent in all later ones.
bool had_no_faults_since(const std::optional<std::uint64_t> &before, const FilePages &pages) {
    return before && faults_of(pages) == before;
}

/// Visits the pages of the parts in `ranges`, by part, then by offset. Returns false if pagemap cannot be read.
bool visit(const std::vector<FileRange> &ranges, const MappedParts &parts, const FilePages &pages,
           const std::function<void(const Held &page)> &found) {
    if (!pages.visit) return false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const MappedPart &part = parts[i];
        const std::uint64_t start = part.mapping->start;
        auto range = std::ranges::upper_bound(ranges, part.begin, {}, &FileRange::second);
        for (; range != ranges.end() && range->first < part.end; ++range) {
            const std::uint64_t from = start + (std::max(range->first, part.begin) - part.begin) * 1024;
            const std::uint64_t to = start + (std::min(range->second, part.end) - part.begin) * 1024;
            const bool read = pages.visit(from, to, [&](const FilePages::Page &page) {
                found({part.begin * 1024 + (page.address - start), i, page.frame, page.exclusive});
            });
            if (!read) return false;
        }
    }
    return true;
}

/// Reads the pages again, and adds the parts that changed to `changed`. A page that was added is no change. Returns
/// false if pagemap cannot be read.
bool find_changes(const std::vector<Held> &held, const std::vector<FileRange> &ranges, const MappedParts &parts,
                  const FilePages &pages, std::set<std::size_t> &changed) {
    const auto place = [](const Held &page) { return std::pair(page.part, page.offset); };
    auto expected = held.begin();
    const bool read = visit(ranges, parts, pages, [&](const Held &now) {
        for (; expected != held.end() && place(*expected) < place(now); ++expected)
            changed.insert(expected->part);
        if (expected == held.end() || place(*expected) != place(now)) return;
        if (expected->exclusive != now.exclusive) changed.insert(now.part);
        ++expected;
    });
    for (; expected != held.end(); ++expected)
        changed.insert(expected->part);
    return read;
}

/// Whether the mappings, which have different ids, may show the same pages.
bool may_be_same(const Mapping &a, const Mapping &b, const Devices &devices) {
    if (a.device != b.device) return devices.stacked.contains(a.device) || devices.stacked.contains(b.device);
    return a.inode == b.inode || devices.data_layers.contains(a.device);
}

}  // namespace

std::optional<HeldPages> pages_in(const std::vector<FileRange> &ranges, const MappedParts &parts,
                                  const FilePages &pages, bool one_file) {
    HeldPages result;
    std::vector<Held> &held = result.held;
    const auto faults = faults_of(pages);
    if (!visit(ranges, parts, pages, [&](const Held &page) { held.push_back(page); })) return std::nullopt;
    const auto is_mapped_once = [](const Held &page) { return page.number == 0 && page.exclusive; };
    if (one_file || std::ranges::none_of(held, is_mapped_once)) return result;
    std::set<std::size_t> changed;
    for (int i = 1; i < kTimes; ++i) {
        if (!find_changes(held, ranges, parts, pages, changed)) {
            result.changed.assign(parts.size(), true);
            return result;
        }
        if (had_no_faults_since(faults, pages)) break;
    }
    if (!changed.empty()) result.changed.resize(parts.size());
    for (const std::size_t part : changed)
        result.changed[part] = true;
    return result;
}

std::optional<std::string> file_id(const Mapping &mapping, const Devices &devices) {
    // A file on an overlay may have been copied up since another mapping of it was made.
    if (devices.stacked.contains(mapping.device) && !devices.fuse.contains(mapping.device)) return std::nullopt;
    std::string id = mapping.device + ' ' + std::to_string(mapping.inode);
    if (devices.subvolumes.contains(mapping.device)) id += ' ' + mapping.name;
    return id;
}

PageNumbers::PageNumbers(const MappedParts &parts, const Devices &devices, const FilePages &pages)
    : parts_(parts), devices_(devices), pages_(pages), parent_(parts.size()) {
    std::unordered_map<std::string, std::size_t> first;
    for (std::size_t part = 0; part < parts.size(); ++part) {
        const auto id = file_id(*parts[part].mapping, devices);
        parent_[part] = id ? first.emplace(*id, part).first->second : part;
    }
}

std::size_t PageNumbers::root(std::size_t part) const {
    while (parent_[part] != part)
        part = parent_[part];
    return part;
}

std::set<std::size_t> PageNumbers::open_roots() const {
    std::map<std::size_t, FileRange> files;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
        const auto [file, added] = files.emplace(root(part), FileRange{parts_[part].begin, parts_[part].end});
        file->second.second = std::max(file->second.second, parts_[part].end);  // parts ascend by begin
    }
    std::set<std::size_t> open;
    for (auto a = files.begin(); a != files.end(); ++a)
        for (auto b = std::next(a); b != files.end(); ++b)
            if (a->second.first < b->second.second && b->second.first < a->second.second && is_open(a->first, b->first))
                open.insert({a->first, b->first});
    return open;
}

std::set<std::size_t> PageNumbers::unsettled_roots() const {
    std::set<std::size_t> roots;
    for (const std::size_t part : unsettled_)
        roots.insert(root(part));
    return roots;
}

void PageNumbers::assign(HeldPages &read) {
    std::vector<Held> &held = read.held;
    std::ranges::sort(held, {}, [](const Held &page) { return std::pair(page.offset, page.part); });
    for (auto begin = held.begin(); begin != held.end();) {
        const auto end = std::find_if(begin, held.end(), [&](const Held &page) { return page.offset > begin->offset; });
        assign_at_one_offset({begin, end}, read.changed);
        begin = end;
    }
}

void PageNumbers::unite_by_frame(std::span<const Held> pages) {
    Holders holders;
    std::map<std::uint64_t, std::set<std::uint64_t>> mappers;
    for (const Held &page : pages) {
        holders.emplace(root(page.part), page.part);
        mappers[page.number].insert(parts_[page.part].mapping->start);
    }
    for (const auto &[frame, of_frame] : mappers)
        unite(holders, of_frame);
}

void PageNumbers::assign_at_one_offset(std::span<Held> pages, const std::vector<bool> &changed) {
    if (pages.front().number != 0) return unite_by_frame(pages);
    const bool is_steady =
        changed.empty() || std::ranges::none_of(pages, [&](const Held &page) { return changed[page.part]; });
    Holders holders;  // a page that is mapped only once is not that of another mapping
    for (const Held &page : pages)
        if (!is_steady || !page.exclusive || has_pmd(page.part)) holders.emplace(root(page.part), page.part);
    if (holders.size() > 1) settle(std::move(holders), pages.front().offset);
    std::unordered_map<std::size_t, std::uint64_t> numbers;
    for (Held &page : pages)
        page.number = numbers.emplace(root(page.part), ++next_).first->second;
}

/// Whether a PMD entry may map pages of the part. Until 6.11, all its pages were "mapped exactly once" if the first
/// one was (2c1f057e5be6).
bool PageNumbers::has_pmd(std::size_t part) const {
    return or_zero(parts_[part].mapping->fields.file_pmd_mapped).n > 0;
}

bool PageNumbers::is_open(std::size_t a, std::size_t b) const {
    return a != b && may_be_same(*parts_[a].mapping, *parts_[b].mapping, devices_) &&
           !different_.contains(std::minmax(a, b));
}

/// Those on the devices with the fewest files come first: if all of these are known, so are the others.
std::vector<PageNumbers::Holder> PageNumbers::in_order(const Holders &holders) const {
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
void PageNumbers::settle(Holders holders, std::uint64_t offset) {
    const auto is_open_with_any = [&](const auto &one) {
        return std::ranges::any_of(holders, [&](const auto &other) { return is_open(one.first, other.first); });
    };
    if (std::ranges::none_of(holders, is_open_with_any)) return;
    for (const auto &asked : in_order(holders)) {
        if (!holders.contains(asked.first) || !is_open_with_any(asked)) continue;
        const Mapping &mapping = *parts_[asked.second].mapping;
        if (devices_.fuse.contains(mapping.device) || refused_.contains(asked.second)) continue;
        const auto mappers = ask(mapping, holders, offset);
        if (!mappers) {
            refused_.insert(asked.second);
            continue;
        }
        Holders seen = holders;
        std::erase_if(seen, [&](const auto &holder) { return mappers->unseen.contains(holder.second); });
        unite(seen, mappers->addresses);
        drop_united(holders);
    }
    for (const auto &holder : holders)
        if (is_open_with_any(holder)) unsettled_.insert(holder.second);
}

/// Asks again if a part did not seem to have the page, while the process had page faults: it may have dropped the page
/// just then. nullopt as FilePages::mappers.
std::optional<PageNumbers::Mappers> PageNumbers::ask(const Mapping &mapping, const Holders &holders,
                                                     std::uint64_t offset) const {
    if (!pages_.mappers) return std::nullopt;
    Mappers all;
    for (int i = 0; i < kTimes; ++i) {
        const auto faults = faults_of(pages_);
        const auto found = pages_.mappers(mapping, to_ask(holders, offset));
        if (!found) return std::nullopt;
        all.addresses.insert(found->begin(), found->end());
        for (const auto &[file, part] : holders)
            if (!found->contains(parts_[part].mapping->start) && !would_be_seen(part, offset)) all.unseen.insert(part);
        const auto has_it = [&](const auto &holder) {
            return all.addresses.contains(parts_[holder.second].mapping->start);
        };
        if (std::ranges::all_of(holders, has_it) || had_no_faults_since(faults, pages_)) break;
    }
    std::erase_if(all.unseen, [&](std::size_t part) { return all.addresses.contains(parts_[part].mapping->start); });
    return all;
}

/// The offsets where a mapping that has the page at `offset` is seen, by whatever entry it has the page.
std::set<std::uint64_t> PageNumbers::to_ask(const Holders &holders, std::uint64_t offset) const {
    std::set<std::uint64_t> offsets{offset};
    const bool by_pmd = std::ranges::any_of(holders, [&](const auto &holder) { return has_pmd(holder.second); });
    if (by_pmd && pages_.pmd_bytes > 0) offsets.insert(offset - offset % pages_.pmd_bytes);
    return offsets;
}

/// Whether the part still has a page at `offset`, and mappers() sees by which entry. Since the pages were read,
/// reclaim may have taken it, or khugepaged may have made a huge page of it, which the part has only after its next
/// fault.
bool PageNumbers::would_be_seen(std::size_t part, std::uint64_t offset) const {
    if (has_pmd(part) && pages_.pmd_bytes == 0) return false;
    const Mapping &mapping = *parts_[part].mapping;
    const std::uint64_t address = mapping.start + (offset - mapping.offset);
    bool has = false;
    const auto found = [&has](const FilePages::Page & /*page*/) { has = true; };
    return pages_.visit(address, address + static_cast<std::uint64_t>(pages_.page_size.bytes), found) && has;
}

/// Those of `holders` that are among the mappings of one page are one file, and the others are other files.
void PageNumbers::unite(Holders &holders, const std::set<std::uint64_t> &mappers) {
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

void PageNumbers::drop_united(Holders &holders) const {
    std::erase_if(holders, [this](const auto &holder) { return root(holder.first) != holder.first; });
}

}  // namespace rsslag::procfs
