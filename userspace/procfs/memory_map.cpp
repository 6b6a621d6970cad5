// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/memory_map.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "procfs/droppable.h"

namespace rsslag::procfs {

namespace {

using core::Kilobytes;

/// Names of mappings that the kernel sets up itself (arch/x86/entry/vdso, mm/mmap.c install_special_mapping).
constexpr std::array<std::string_view, 6> kKernelNames{"[vdso]",     "[vvar]",    "[vvar_vclock]",
                                                       "[vsyscall]", "[uprobes]", "[sigpage]"};

Kilobytes clean(const Mapping &mapping) {
    return or_zero(mapping.fields.shared_clean) + or_zero(mapping.fields.private_clean);
}
Kilobytes dirty(const Mapping &mapping) {
    return or_zero(mapping.fields.shared_dirty) + or_zero(mapping.fields.private_dirty);
}
Kilobytes hugetlb(const Mapping &mapping) {
    return or_zero(mapping.fields.shared_hugetlb) + or_zero(mapping.fields.private_hugetlb);
}

Quadrant quadrant_of(const Mapping &mapping, Backing backing, const Devices &devices) {
    if (backing == Backing::Hugetlb) return Quadrant::Hugetlb;
    if (backing == Backing::Kernel) return Quadrant::Kernel;
    if (!is_shared(mapping)) return has_file(mapping) ? Quadrant::PrivateFile : Quadrant::PrivateAnonymous;
    return mapping.device == devices.internal ? Quadrant::SharedAnonymous : Quadrant::SharedFile;
}

/// VM_GROWSDOWN, or private and writable: the mappings that the kernel counts in stack_vm and data_vm (mm/mmap.c).
bool is_data(const Mapping &mapping) {
    return mapping.has_flag("gd") || (is_writable(mapping) && !is_shared(mapping));
}

void add(MapGroup &group, const Mapping &mapping) {
    ++group.mappings;
    for (std::size_t i = 0; i < group.perms.size() && i < mapping.perms.size(); ++i) {
        if (group.perms[i] == '-') group.perms[i] = mapping.perms[i];
    }
    group.size += mapping.size;
    group.rss += or_zero(mapping.fields.rss);
    group.pss += or_zero(mapping.fields.pss);
    group.clean += clean(mapping);
    group.dirty += dirty(mapping);
    group.swap += or_zero(mapping.fields.swap);
}

/// Whether the mapping starts at `from` and is unnamed, private and PROT_NONE: the unused rest of a malloc arena.
bool reserves(const Mapping &mapping, std::uint64_t from) {
    return mapping.start == from && mapping.name.empty() && core::mapping_flags(mapping.perms) == 0;
}

/// The thread whose stack pointer is in the range; none if two pointers are in it, as either may be the owner.
core::MappingNeighbours only_stack(const std::map<std::uint64_t, int> &pointers, const core::MappedRange &range) {
    const auto first = pointers.upper_bound(range.start);
    if (first == pointers.end() || !core::may_hold_stack(range, first->first)) return {};
    const auto second = std::next(first);
    if (second != pointers.end() && core::may_hold_stack(range, second->first)) return {};
    return {.stack_of_tid = first->second, .by_shape = true};
}

bool same_amounts(const MapGroup &a, const MapGroup &b) {
    return std::tie(a.mappings, a.size, a.rss, a.pss, a.clean, a.dirty, a.swap) ==
           std::tie(b.mappings, b.size, b.rss, b.pss, b.clean, b.dirty, b.swap);
}

bool has_option(const Mount &mount, std::string_view sought) {
    for (std::string_view rest = mount.options; !rest.empty();) {
        const std::string_view option = rest.substr(0, rest.find(','));
        if (option == sought) return true;
        rest.remove_prefix(std::min(rest.size(), option.size() + 1));
    }
    return false;
}

/// Whether all files of the mount are mapped past the page cache. dax=inode, for single files, does not count.
bool has_dax(const Mount &mount) {
    return has_option(mount, "dax") || has_option(mount, "dax=always");
}

bool is_fuse(const Mount &mount) {
    return mount.type == "fuse" || mount.type == "fuseblk" || mount.type.starts_with("fuse.");
}

/// A layer with data alone: "lowerdir=a::data", "datadir+=data" (fs/overlayfs/params.c ovl_show_options).
bool has_data_layers(const Mount &mount) {
    const std::string_view options = mount.options;
    return mount.type == "overlay" && (options.find("datadir+=") != options.npos || options.find("::") != options.npos);
}

}  // namespace

void Devices::add(const std::vector<Mount> &mounts) {
    for (const Mount &mount : mounts) {
        const bool in_memory = mount.type == "tmpfs" || mount.type == "devtmpfs";
        (in_memory ? tmpfs : others).insert(mount.device);
        if (mount.type == "overlay" || mount.type == "erofs" || is_fuse(mount)) stacked.insert(mount.device);
        if (is_fuse(mount)) fuse.insert(mount.device);
        if (has_data_layers(mount)) data_layers.insert(mount.device);
        if (mount.type == "btrfs" || mount.type == "bcachefs") subvolumes.insert(mount.device);
        if (mount.type == "ramfs" || mount.type == "rootfs" || has_dax(mount)) kept_in_memory.insert(mount.device);
    }
}

bool has_file(const Mapping &mapping) {
    // A System V segment may have inode 0.
    return mapping.inode != 0 || mapping.device != "00:00";
}

Backing backing_of(const Mapping &mapping, const Devices &devices) {
    if (mapping.has_flag("ht")) return Backing::Hugetlb;
    if (!has_file(mapping)) {
        const bool kernels = std::ranges::find(kKernelNames, mapping.name) != kKernelNames.end();
        return kernels ? Backing::Kernel : Backing::Anonymous;
    }
    if (devices.is_block_node(mapping) || devices.is_character_node(mapping)) return Backing::File;
    if (mapping.device == devices.internal || devices.tmpfs.contains(mapping.device)) return Backing::Shmem;
    return devices.others.contains(mapping.device) ? Backing::File : Backing::Unknown;
}

std::string_view name(Quadrant quadrant) {
    switch (quadrant) {
        case Quadrant::PrivateAnonymous: return "private_anonymous";
        case Quadrant::PrivateFile: return "private_file";
        case Quadrant::SharedAnonymous: return "shared_anonymous";
        case Quadrant::SharedFile: return "shared_file";
        case Quadrant::Kernel: return "kernel";
        case Quadrant::Hugetlb: return "hugetlb";
    }
    return "";
}

QuadrantSum &QuadrantSum::operator+=(const QuadrantSum &other) {
    mappings += other.mappings;
    size += other.size;
    resident += other.resident;
    anon += other.anon;
    file += other.file;
    shmem += other.shmem;
    unplaced += other.unplaced;
    swap += other.swap;
    hugetlb += other.hugetlb;
    return *this;
}

QuadrantSum Quadrants::total() const {
    QuadrantSum total;
    for (const QuadrantSum &sum : sums)
        total += sum;
    return total;
}

Quadrants quadrants(const std::vector<Mapping> &mappings, const Devices &devices) {
    Quadrants all;
    for (const Mapping &mapping : mappings) {
        if (!in_mm(mapping)) continue;
        const Backing backing = backing_of(mapping, devices);
        QuadrantSum sum;
        sum.mappings = 1;
        sum.size = mapping.size;
        sum.resident = or_zero(mapping.fields.rss);
        sum.anon = or_zero(mapping.fields.anonymous);
        sum.swap = or_zero(mapping.fields.swap);
        sum.hugetlb = procfs::hugetlb(mapping);
        const Kilobytes rest = sum.resident - sum.anon;
        if (backing == Backing::Shmem) {
            sum.shmem = rest;
        } else if (backing == Backing::Unknown) {
            sum.unplaced = rest;
            if (rest.n != 0) all.unplaced.push_back({mapping.name, mapping.start, rest});
        } else {
            sum.file = rest;
        }
        all.sums[static_cast<std::size_t>(quadrant_of(mapping, backing, devices))] += sum;
    }
    return all;
}

namespace {

/// Adds stacked devices to `tmpfs` if `rest`, which is not 0, equals the pages on them.
void learn_stacked(Devices &devices, const std::vector<Mapping> &mappings, Kilobytes rest) {
    std::map<std::string, Kilobytes> held;
    Kilobytes all;
    for (const Mapping &mapping : mappings) {
        if (!devices.stacked.contains(mapping.device) || backing_of(mapping, devices) != Backing::File) continue;
        const Kilobytes file = or_zero(mapping.fields.rss) - or_zero(mapping.fields.anonymous);
        held[mapping.device] += file;
        all += file;
    }
    for (const auto &[device, pages] : held)
        if (pages == rest || all == rest) devices.tmpfs.insert(device);
}

}  // namespace

void learn(Devices &devices, const std::vector<Mapping> &mappings, Kilobytes shmem) {
    const Quadrants known = quadrants(mappings, devices);
    const Kilobytes rest = shmem - known.total().shmem;
    if (known.unplaced.empty()) return rest.n == 0 ? void() : learn_stacked(devices, mappings, rest);
    if (rest.n != 0 && rest != known.total().unplaced) return;
    for (const Mapping &mapping : mappings) {
        if (backing_of(mapping, devices) != Backing::Unknown) continue;
        (rest.n == 0 ? devices.others : devices.tmpfs).insert(mapping.device);
    }
}

MapSums sums(const std::vector<Mapping> &mappings, const Devices &devices, const FilePages &pages) {
    MapSums sums;
    for (const Mapping &mapping : mappings) {
        if (!in_mm(mapping)) continue;
        const SmapsFields &fields = mapping.fields;
        ++sums.mappings;
        sums.size += mapping.size;
        sums.rss += or_zero(fields.rss);
        sums.pss += or_zero(fields.pss);
        sums.shared_clean += or_zero(fields.shared_clean);
        sums.shared_dirty += or_zero(fields.shared_dirty);
        sums.private_clean += or_zero(fields.private_clean);
        sums.private_dirty += or_zero(fields.private_dirty);
        sums.swap += or_zero(fields.swap);
        sums.swap_pss += or_zero(fields.swap_pss);
        sums.lazy_free += or_zero(fields.lazy_free);
        sums.private_hugetlb += or_zero(fields.private_hugetlb);
        sums.shared_hugetlb += or_zero(fields.shared_hugetlb);
        if (is_data(mapping)) sums.data_rss += or_zero(fields.rss);
    }
    sums.hugetlb = sums.private_hugetlb + sums.shared_hugetlb;
    const Droppable taken = procfs::droppable(mappings, devices, pages);
    sums.droppable_file = taken.file;
    sums.droppable_anon = taken.anon;
    sums.droppable = taken.total();
    sums.droppable_each_once = taken.each_once;
    sums.droppable_surely_once = taken.file_surely_once + taken.anon;
    return sums;
}

void recognise(std::vector<Mapping> &mappings, const std::vector<core::MappingListing::Stack> &stacks) {
    std::map<std::uint64_t, int> pointers;
    for (const core::MappingListing::Stack &stack : stacks)
        pointers.emplace(stack.pointer, stack.tid);
    for (std::size_t i = 0; i < mappings.size(); ++i) {
        Mapping &mapping = mappings[i];
        if (!mapping.name.empty() || is_shared(mapping)) continue;
        const core::MappedRange range{mapping.start, mapping.end, core::mapping_flags(mapping.perms), ""};
        core::MappingNeighbours neighbours = only_stack(pointers, range);
        neighbours.reserved_above = i + 1 < mappings.size() && reserves(mappings[i + 1], range.end);
        mapping.recognised = core::mapping_name(range, neighbours);
        if (mapping.recognised == core::kAnonymousMapping) mapping.recognised.clear();
    }
}

GroupKey key_of(const MapGroup &group) {
    return {group.name, group.shared, group.written_file};
}

GroupKey key_of(const Mapping &mapping) {
    const bool shared = is_shared(mapping);
    const bool written_file = !shared && is_writable(mapping) && has_file(mapping);
    return {mapping.recognised.empty() ? mapping.name : mapping.recognised, shared, written_file};
}

std::vector<MapGroup> groups(const std::vector<Mapping> &mappings, const Devices &devices) {
    std::vector<MapGroup> all;
    // Per kind: private, private and writable file, shared.
    std::array<std::unordered_map<std::string_view, std::size_t>, 3> found;
    for (const Mapping &mapping : mappings) {
        if (!in_mm(mapping)) continue;
        const auto [name, shared, written_file] = key_of(mapping);
        const std::size_t kind = shared ? 2 : written_file ? 1 : 0;
        const auto [at, fresh] = found[kind].try_emplace(name, all.size());
        if (fresh) {
            MapGroup &group = all.emplace_back();
            group.name = name;
            group.shared = shared;
            group.written_file = written_file;
            group.backing = backing_of(mapping, devices);
            group.perms = mapping.perms;
        }
        add(all[at->second], mapping);
    }
    const auto order = [](const MapGroup &group) {
        return std::tuple(group.shared, -group.rss.n, -group.size.n, std::string_view(group.name), group.written_file);
    };
    std::sort(all.begin(), all.end(), [&](const MapGroup &a, const MapGroup &b) { return order(a) < order(b); });
    return all;
}

Kilobytes MapChange::grown(Kilobytes MapGroup::*what) const {
    return (after ? *after.*what : Kilobytes{}) - (before ? *before.*what : Kilobytes{});
}

std::vector<MapChange> changes(const std::vector<MapGroup> &before, const std::vector<MapGroup> &after) {
    std::map<GroupKey, MapChange> all;
    for (const MapGroup &group : before)
        all[key_of(group)].before = group;
    for (const MapGroup &group : after)
        all[key_of(group)].after = group;
    std::vector<MapChange> changed;
    for (auto &[name, change] : all) {
        if (change.before && change.after && same_amounts(*change.before, *change.after)) continue;
        changed.push_back(std::move(change));
    }
    std::stable_sort(changed.begin(), changed.end(), [](const MapChange &a, const MapChange &b) {
        const auto order = [](const MapChange &change) {
            return std::tuple(-std::abs(change.grown(&MapGroup::rss).n), -std::abs(change.grown(&MapGroup::size).n));
        };
        return order(a) < order(b);
    });
    return changed;
}

}  // namespace rsslag::procfs
