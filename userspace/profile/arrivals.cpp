// SPDX-License-Identifier: BSD-2-Clause
#include "arrivals.h"

#include <algorithm>

namespace rsslag::profile {

void Arrivals::note(const core::Sample &sample, std::uint64_t number) {
    if (overflowed_ || !core::owns_page(sample)) return;
    Space &space = spaces_[sample.mm];
    const bool is_file = sample.member == static_cast<std::uint8_t>(core::Member::File);
    const std::uint64_t page = core::owned_page(sample) | (is_file ? kIsFile : 0);
    const auto [owner, is_new] = space.owners.try_emplace(page, number);
    if (!is_new) {
        const std::uint64_t old = std::exchange(owner->second, number);
        if (old < space.before)
            space.replaced.push_back(old);
        else
            origins_.erase(old);
    }
    origins_[number];
    if (origins_.size() <= most_) return;
    overflowed_ = true;
    origins_.clear();
    spaces_.clear();
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
