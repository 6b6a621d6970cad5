// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/memory_use.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include "procfs/droppable.h"
#include "procfs/memory_map.h"

namespace rsslag::procfs {

namespace {

using core::Kilobytes;

/// Largest first; ties by name.
template <class Row>
bool larger(const Row &a, const Row &b) {
    return std::tie(b.use.pss, a.name) < std::tie(a.use.pss, b.name);
}

/// An array of BPF, which is mapped from its start (kernel/bpf/arraymap.c array_map_mmap()). The data of a BPF ring
/// buffer, whose pages are not from vmalloc, starts at a later offset. An arena has no VM_MIXEDMAP.
bool is_bpf_array(const Mapping &mapping) {
    return mapping.name == "anon_inode:bpf-map" && mapping.offset == 0 && mapping.has_flag("mm");
}

}  // namespace

Use &Use::operator+=(const Use &other) {
    private_clean += other.private_clean;
    private_dirty += other.private_dirty;
    pss += other.pss;
    rss += other.rss;
    swap += other.swap;
    return *this;
}

Use use_of(const SmapsFields &sums) {
    Use use;
    use.private_clean = or_zero(sums.private_clean);
    use.private_dirty = or_zero(sums.private_dirty);
    use.pss = or_zero(sums.pss);
    use.rss = or_zero(sums.rss);
    use.swap = or_zero(sums.swap_pss ? sums.swap_pss : sums.swap);
    return use;
}

Parts &Parts::operator+=(const Parts &other) {
    const auto plus = [](std::optional<Kilobytes> &sum, const std::optional<Kilobytes> &more) {
        sum = sum && more ? std::optional(*sum + *more) : std::nullopt;
    };
    plus(anon, other.anon);
    plus(file, other.file);
    plus(shmem, other.shmem);
    private_hugetlb += other.private_hugetlb;
    shared_hugetlb += other.shared_hugetlb;
    drivers += other.drivers;
    bpf_maps += other.bpf_maps;
    return *this;
}

Parts parts_of(const SmapsFields &sums) {
    return {sums.pss_anon, sums.pss_file, sums.pss_shmem, or_zero(sums.private_hugetlb), or_zero(sums.shared_hugetlb)};
}

bool may_be_of_driver(const Mapping &mapping) {
    const auto below = [&](std::string_view path) { return mapping.name.starts_with(path); };
    if (!has_file(mapping) || mapping.name.empty()) return false;
    // The page cache has the memory of guest_memfd. "[anon_shmem:NAME]" is shared anonymous memory.
    if (!below("/")) return !below("[") && mapping.name.find("[kvm-gmem]") == std::string::npos;
    constexpr std::array<std::string_view, 4> kDevices{"/dev/", "/sys/", "/proc/", "/dmabuf:"};
    constexpr std::array<std::string_view, 3> kMemory{"/dev/shm/", "/dev/zero", "/dev/hugepages/"};
    return std::ranges::any_of(kDevices, below) && std::ranges::none_of(kMemory, below);
}

void separate_drivers(Parts &parts, const std::vector<Mapping> &mappings) {
    if (!parts.file) return;
    for (const Mapping &mapping : mappings) {
        if (!may_be_of_driver(mapping) || !is_of_driver(mapping)) continue;
        // Written pages of a private mapping are anonymous.
        const Kilobytes inserted = or_zero(mapping.fields.pss) - or_zero(mapping.fields.anonymous);
        const Kilobytes taken = std::clamp(inserted, Kilobytes{}, *parts.file);
        *parts.file = *parts.file - taken;
        parts.drivers += taken;
        if (is_bpf_array(mapping)) parts.bpf_maps += taken;
    }
}

std::vector<UseGroup> grouped(const std::vector<User> &users, std::string (*name)(const User &)) {
    std::map<std::string, UseGroup> found;
    for (const User &user : users) {
        UseGroup &group = found[name(user)];
        group.processes += user.pids.size();
        group.pids.insert(group.pids.end(), user.pids.begin(), user.pids.end());
        group.use += user.use;
    }
    std::vector<UseGroup> all;
    for (auto &[key, group] : found) {
        group.name = key;
        std::sort(group.pids.begin(), group.pids.end());
        all.push_back(std::move(group));
    }
    std::sort(all.begin(), all.end(), larger<UseGroup>);
    return all;
}

Use total(const std::vector<User> &users) {
    Use sum;
    for (const User &user : users)
        sum += user.use;
    return sum;
}

Parts total_parts(const std::vector<User> &users) {
    Parts sum{Kilobytes{}, Kilobytes{}, Kilobytes{}, {}, {}};
    for (const User &user : users)
        sum += user.parts;
    return sum;
}

std::optional<Headroom> headroom_for(const std::vector<const User *> &users, const MemInfo &info) {
    if (users.empty() || !info.available) return std::nullopt;
    Kilobytes written;
    Headroom room;
    for (const User *user : users) {
        written += user->use.private_dirty;
        room.largest = std::max(room.largest, user->use.private_dirty);
    }
    const auto count = static_cast<std::int64_t>(users.size());
    room.each = {(written.n + count - 1) / count};
    if (room.each.n == 0) return std::nullopt;
    room.more = info.available->n / room.each.n;
    return room;
}

void add(std::map<std::string, FileUse> &files, int pid, const std::vector<Mapping> &mappings) {
    std::map<std::string_view, Kilobytes> sizes;
    for (const Mapping &mapping : mappings) {
        if (!in_mm(mapping)) continue;
        FileUse &file = files[mapping.name];
        const Use use = use_of(mapping.fields);
        ++file.mappings;
        file.use += use;
        file.by_pid[pid] += use;
        sizes[mapping.name] += mapping.size;
        file.size = std::max(file.size, sizes[mapping.name]);
    }
}

std::vector<FileUse> sorted(std::map<std::string, FileUse> &&files) {
    std::vector<FileUse> all;
    for (auto &[name, file] : files) {
        file.name = name;
        all.push_back(std::move(file));
    }
    std::sort(all.begin(), all.end(), larger<FileUse>);
    return all;
}

}  // namespace rsslag::procfs
