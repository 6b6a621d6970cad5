// SPDX-License-Identifier: BSD-2-Clause
// Mappings of traced processes: what the kernel tells of them, and listings of them all.
#include <algorithm>
#include <utility>

#include "tracer_state.h"

namespace rsslag::host {
namespace {

/// A listing walks the page tables, as a walk does.
constexpr std::uint64_t kListAgainNs = 10'000'000'000;
constexpr std::uint64_t kListingCostsAtMost = 20;
/// What a process does before the record that it is traced has come is told of no longer ago than this.
constexpr std::uint64_t kUnclaimedNs = 20'000'000;
/// Times are told to this: a system call takes longer, and what is finer is most of what a recording keeps of a change.
constexpr std::uint64_t kTimeStepNs = 1024;

}  // namespace

/// What is known already is not told again: most that an exec maps is within what the loader has mapped just before.
bool Tracer::State::is_news(const core::MappingChange &change) {
    using Kind = core::MappingChange::Kind;
    if (change.kind == Kind::Lost) {
        told = {};  // of whom is not known
        return true;
    }
    if (change.kind == Kind::Exec) told.exec(change.pid);
    if (change.kind == Kind::Mapped && told.knows(change.pid, change.range)) return false;
    if (change.kind != Kind::Exec) told.change(change);
    return true;
}

/// Of traced processes, with those that begin to be among the records that have just come.
void Tracer::State::take_mappings() {
    for (const int pid : analyzer.take_begun()) {
        if (named.insert(pid).second) told.exit(pid);
    }
    std::vector<core::MappingChange> changes = std::exchange(unclaimed, {});
    std::vector<core::MappingChange> fresh = source->mapping_changes();
    std::move(fresh.begin(), fresh.end(), std::back_inserter(changes));
    std::stable_sort(changes.begin(), changes.end(), [](const auto &a, const auto &b) { return a.t_ns < b.t_ns; });
    const std::uint64_t now = source->now_ns();
    event::MappingChanges event;
    for (core::MappingChange &change : changes) {
        const bool claimed = change.kind == core::MappingChange::Kind::Lost || named.contains(change.pid);
        if (!claimed && change.t_ns + kUnclaimedNs > now) unclaimed.push_back(change);
        if (!claimed || !is_news(change)) continue;
        change.t_ns -= change.t_ns % kTimeStepNs;
        event.changes.push_back(std::move(change));
    }
    if (!event.changes.empty()) feed(std::move(event));
}

void Tracer::State::list(int host_tgid, int pid, bool walk) {
    if (!options.names) return;
    named.insert(pid);
    const std::uint64_t begin = source->now_ns();
    auto listing = source->list_mappings(host_tgid, pid, walk);
    const std::uint64_t end = source->now_ns();
    next_listing_ns[host_tgid] = end + std::max(kListAgainNs, kListingCostsAtMost * (end - begin));
    if (listing) told.list(*listing);
    if (listing) feed(event::MappingListing{std::move(*listing)});
}

/// What began in the trace is listed once it has lived for as long as lies between two listings.
void Tracer::State::list_due() {
    const std::uint64_t now = source->now_ns();
    for (const core::GroupView &group : analyzer.groups()) {
        if (group.tgid == 0) continue;
        const auto [due, is_new] = next_listing_ns.try_emplace(group.host_tgid, now + kListAgainNs);
        if (!is_new && due->second <= now) list(group.host_tgid, group.tgid, options.walk);
    }
}

/// What each holds at the end.
void Tracer::State::list_all() {
    for (const core::GroupView &group : analyzer.groups())
        if (group.tgid != 0) list(group.host_tgid, group.tgid, options.walk);
}

}  // namespace rsslag::host
