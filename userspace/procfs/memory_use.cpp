// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/memory_use.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "procfs/memory_map.h"

namespace rsslag::procfs {

namespace {

using core::Kilobytes;

/// Largest first; ties by name.
template <class Row>
bool larger(const Row &a, const Row &b) {
    return std::tie(b.use.pss, a.name) < std::tie(a.use.pss, b.name);
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
    return *this;
}

Parts parts_of(const SmapsFields &sums) {
    return {sums.pss_anon, sums.pss_file, sums.pss_shmem, or_zero(sums.private_hugetlb), or_zero(sums.shared_hugetlb)};
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
