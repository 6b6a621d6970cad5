// SPDX-License-Identifier: BSD-2-Clause
#include "arrivals.h"

#include <algorithm>
#include <utility>

namespace rsslag::profile {

void Arrivals::note(const core::Sample &sample, std::uint64_t number) {
    if (overflowed_ || !core::owns_page(sample)) return;
    Space &space = spaces_[sample.mm];
    const bool is_file = sample.member == static_cast<std::uint8_t>(core::Member::File);
    const std::uint64_t page = core::owned_page(sample) | (is_file ? kIsFile : 0);
    const auto [owner, is_new] = space.owners.try_emplace(page, number);
    if (!is_new) replace(space, owner->second, number);
    origins_[number];
    if (origins_.size() > most_) overflow();
}

void Arrivals::overflow() {
    overflowed_ = true;
    origins_.clear();
    spaces_.clear();
}

void Arrivals::replace(Space &space, std::uint64_t &owner, std::uint64_t number) {
    const std::uint64_t old = std::exchange(owner, number);
    if (old < space.before)
        space.replaced.push_back(old);
    else
        origins_.erase(old);
}

void Arrivals::move(const Move &move, const CameBefore &came_before) {
    constexpr std::uint64_t kMostVisited = std::uint64_t{1} << 26;  // seconds
    const auto found = spaces_.find(move.mm);
    if (found == spaces_.end()) return;
    Space &space = found->second;
    moved_ += space.owners.size();
    if (moved_ > kMostVisited) return overflow();
    std::vector<std::uint64_t> pages;
    for (const auto &[page, number] : space.owners)
        if (page >= move.from && page < move.to && came_before(number)) pages.push_back(page);
    // In an order in which no owner takes a place that another one has not left yet.
    const bool up = move.now > move.from;
    std::sort(pages.begin(), pages.end(), [up](std::uint64_t a, std::uint64_t b) { return up ? a > b : a < b; });
    for (const std::uint64_t page : pages) {
        const std::uint64_t number = space.owners.extract(page).mapped();
        const std::uint64_t now = page - move.from + move.now;
        const auto absence = space.absent.find(now & ~kIsFile);
        if (absence != space.absent.end() && absence->second.t_ns > move.t_ns && number < absence->second.before) {
            origins_.erase(number);
            continue;
        }
        const auto [owner, is_new] = space.owners.try_emplace(now, number);
        if (is_new) continue;
        if (came_before(owner->second)) {  // of a mapping that was there before
            replace(space, owner->second, number);
        } else {
            origins_.erase(number);
        }
    }
}

void Arrivals::explain(std::uint64_t number, const Origin &origin) {
    if (const auto found = origins_.find(number); found != origins_.end()) found->second = origin;
}

void Arrivals::look(const core::event::AbsentPages &absent) {
    looked_ = true;
    looks_[absent.pid] = {absent.mm, absent.before};
    const auto found = spaces_.find(absent.mm);
    if (found == spaces_.end()) return;
    Space &space = found->second;
    space.pid = absent.pid;
    space.from = absent.from;
    space.before = absent.before;
    for (const std::uint64_t page : absent.pages)
        space.absent[page] = {absent.before, absent.t_ns};
    for (const std::uint64_t number : std::exchange(space.replaced, {}))
        origins_.erase(number);
    for (const std::uint64_t page : absent.pages) {
        for (const std::uint64_t kind : {std::uint64_t{0}, kIsFile}) {
            const auto owner = space.owners.find(page | kind);
            if (owner == space.owners.end() || owner->second >= absent.before) continue;
            origins_.erase(owner->second);
            space.owners.erase(owner);
        }
    }
}

Arrivals::Residence Arrivals::residence(const Space &space, std::uint64_t mm, std::uint64_t number) const {
    if (space.pid == 0 || number < space.from || number >= space.before) return Residence::Unknown;
    const auto last = looks_.find(space.pid);
    return last != looks_.end() && last->second.mm == mm ? Residence::Resident : Residence::Gone;  // Gone: by an exec
}

/// The last samples of the process that own a page, by page. A page of a file and its private copy have one address:
/// the later sample is that of the page which is there.
std::map<std::uint64_t, std::uint64_t> Arrivals::last_owners(const Space &space, int pid) const {
    std::map<std::uint64_t, std::uint64_t> owners;
    for (const auto &[page, number] : space.owners) {
        const auto found = origins_.find(number);
        if (found == origins_.end() || !found->second || found->second->task.first != pid) continue;
        std::uint64_t &owner = owners[page & ~kIsFile];
        owner = std::max(owner, number);
    }
    return owners;
}

std::map<std::uint64_t, Arrivals::Origin> Arrivals::pages(int pid) const {
    std::map<std::uint64_t, std::uint64_t> last;
    std::uint64_t most = 0, its_mm = 0;
    for (const auto &[mm, space] : spaces_) {
        std::map<std::uint64_t, std::uint64_t> owners = last_owners(space, pid);
        std::uint64_t newest = 0;
        for (const auto &[page, number] : owners)
            newest = std::max(newest, number);
        if (owners.empty() || (!last.empty() && newest <= most)) continue;
        last = std::move(owners);
        most = newest;
        its_mm = mm;
    }
    std::map<std::uint64_t, Origin> pages;
    const auto look = looks_.find(pid);
    const bool has_another = look != looks_.end() && look->second.mm != its_mm && most < look->second.before;
    if (has_another) return pages;  // of a later exec, without samples
    for (const auto &[page, number] : last)
        pages.emplace(page, *origins_.at(number));
    return pages;
}

void Arrivals::each(const std::function<void(const Origin &origin, Residence residence)> &use) const {
    const auto one = [&](const Space &space, std::uint64_t mm, std::uint64_t number) {
        const auto found = origins_.find(number);
        if (found != origins_.end() && found->second) use(*found->second, residence(space, mm, number));
    };
    for (const auto &[mm, space] : spaces_) {
        for (const auto &[page, number] : space.owners)
            one(space, mm, number);
        for (const std::uint64_t number : space.replaced)
            one(space, mm, number);
    }
}

}  // namespace rsslag::profile
