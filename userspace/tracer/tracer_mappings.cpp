// SPDX-License-Identifier: BSD-2-Clause
// Mappings of traced processes: their changes, and listings of all mappings.
#include <algorithm>
#include <utility>

#include "tracer_state.h"

namespace rsslag::tracer {
namespace {

/// Listings of a process take at most a twentieth of the time: they walk the page tables.
constexpr std::uint64_t kListAgainNs = 10'000'000'000;
constexpr std::uint64_t kListingCostsAtMost = 20;
/// How long changes of untraced processes are kept: the record that starts tracing a process may be drained later.
constexpr std::uint64_t kUnmatchedNs = 20'000'000;
/// Times are rounded to this. A system call takes longer, and the low bits would make up most of a recorded change.
constexpr std::uint64_t kTimeStepNs = 1024;

}  // namespace

/// Applies a change to `mappings`. False if `mappings` already has this mapping: most ranges that an exec maps are
/// within a range that the loader mapped just before.
bool Tracer::State::apply_if_new(const core::MappingChange &change) {
    using Kind = core::MappingChange::Kind;
    if (change.kind == Kind::Lost) {
        mappings = {};  // the lost changes may be of any process
        return true;
    }
    sampled_pages.change(change);
    if (change.kind == Kind::Exec) mappings.exec(change.pid);
    if (change.kind == Kind::Mapped && mappings.contains(change.pid, change.range)) return false;
    if (change.kind != Kind::Exec) mappings.change(change);
    return true;
}

/// Feeds changes of traced processes, including those that the records just taken show to be traced.
void Tracer::State::take_mappings() {
    take_samples();
    if (unwinding) take_records();  // the forks of all processes that have samples
    for (const int pid : std::exchange(started, {})) {
        if (named.insert(pid).second) mappings.exit(pid);
    }
    std::vector<core::MappingChange> changes = std::exchange(unmatched, {});
    std::vector<core::MappingChange> fresh = source->mapping_changes();
    std::move(fresh.begin(), fresh.end(), std::back_inserter(changes));
    std::stable_sort(changes.begin(), changes.end(), [](const auto &a, const auto &b) { return a.t_ns < b.t_ns; });
    const std::uint64_t now = source->now_ns();
    forget_code_of_untraced(changes);
    unwind(changes);
    event::MappingChanges event;
    for (core::MappingChange &change : changes) {
        const bool matched = change.kind == core::MappingChange::Kind::Lost || named.contains(change.pid);
        if (!matched && change.t_ns + kUnmatchedNs > now)
            unmatched.push_back(change);
        else if (!matched && unwinding)
            untraced.insert(change.pid);
        if (!matched || !apply_if_new(change)) continue;
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
    if (listing) mappings.list(*listing);
    if (listing && unwinding && !with_code.contains(pid)) know_code(*listing);
    if (listing) feed(event::MappingListing{std::move(*listing)});
}

/// Lists processes that are due, of those that this tick has read. A process that started during the trace is due
/// kListAgainNs after it was first seen.
void Tracer::State::list_due(const std::unordered_set<int> &read) {
    const std::uint64_t now = source->now_ns();
    for (const core::GroupView &group : analyzer.groups()) {
        if (group.tgid == 0) continue;
        const auto [due, is_new] = next_listing_ns.try_emplace(group.host_tgid, now + kListAgainNs);
        if (!is_new && due->second <= now && read.contains(group.host_tgid))
            list(group.host_tgid, group.tgid, options.walk);
    }
}

/// Lists all processes, at the end of the trace.
void Tracer::State::list_all() {
    for (const core::GroupView &group : analyzer.groups())
        if (group.tgid != 0) list(group.host_tgid, group.tgid, options.walk);
}

}  // namespace rsslag::tracer
