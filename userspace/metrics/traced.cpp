// SPDX-License-Identifier: BSD-2-Clause
#include "metrics/traced.h"

#include <algorithm>
#include <utility>

#include "metrics/groups.h"

namespace rsslag::metrics {
namespace {

TracedCounts counts_of(const core::Tick &tick) {
    TracedCounts counts{tick.ledger.updates, tick.ledger.updates_by_others, tick.faults, {}};
    std::copy(std::begin(tick.ledger.flushes), std::end(tick.ledger.flushes), counts.flushes.begin());
    return counts;
}

}  // namespace

TracedCounts &TracedCounts::operator+=(const TracedCounts &other) {
    updates += other.updates;
    updates_by_others += other.updates_by_others;
    faults += other.faults;
    for (std::size_t i = 0; i < flushes.size(); ++i)
        flushes[i] += other.flushes[i];
    return *this;
}

/// The name itself if it has a place, or if a place is free or belongs to a group that was reported since its last
/// process ended; else kOther.
std::string TracedGroups::place_for(std::string name) {
    const auto named = groups_.size() - groups_.count(kOther);
    if (groups_.count(name) != 0 || named < most_) return name;
    const auto quiet = std::find_if(groups_.begin(), groups_.end(),
                                    [](const auto &each) { return each.second.quiet && each.first != kOther; });
    if (quiet == groups_.end()) return kOther;
    groups_.erase(quiet);
    return name;
}

TracedGroups::Program &TracedGroups::program_of(int pid, const std::function<std::string()> &name) {
    const auto found = programs_.find(pid);
    if (found != programs_.end()) return found->second;
    Program program{place_for(name()), {}, false};
    Entry &entry = groups_[program.group];
    entry.group.name = program.group;
    entry.processes.insert(pid);
    entry.quiet = false;
    return programs_.emplace(pid, std::move(program)).first->second;
}

void TracedGroups::take(const core::Tick &tick, const std::function<std::string()> &name) {
    const int pid = tick.process.host_pid.value_or(tick.process.pid);
    Program &program = program_of(pid, name);
    if (program.mm != tick.process.mm_id) leave_mm(program.mm, pid);  // the record of an exec was lost
    program.mm = tick.process.mm_id;
    program.needs_resync = tick.needs_resync;
    const auto [at, unseen] = mms_.try_emplace(program.mm, Mm{program.group, {}, {}});
    Mm &mm = at->second;
    groups_[mm.group].mms += unseen ? 1 : 0;
    mm.counts = counts_of(tick);
    mm.processes.insert(pid);
    // What a fork held before its first exec is its parent's copy.
    if (tick.state != core::State::Exec || tick.ledger.extremes.image != 0) {
        TracedGroup &group = groups_[program.group].group;
        const core::Extremes &extremes = tick.ledger.extremes;
        group.peak_from = std::max(group.peak_from, extremes.most.from);
        // A later tick has the upper end of updates that are not settled yet.
        group.peak_to = std::max(group.peak_to, extremes.open ? extremes.most.likely() : extremes.most.to);
        group.peak_lossy = group.peak_lossy || extremes.lossy;
    }
    if (tick.state != core::State::Running) end(pid);
}

void TracedGroups::leave_mm(const std::string &id, int pid) {
    const auto mm = mms_.find(id);
    if (mm == mms_.end()) return;
    mm->second.processes.erase(pid);
    if (!mm->second.processes.empty()) return;
    Entry &entry = groups_[mm->second.group];
    entry.group.counts += mm->second.counts;
    entry.mms--;
    mms_.erase(mm);
}

/// Ends a process, or its program at an exec: another program may follow under the same PID.
void TracedGroups::end(int pid) {
    const auto program = programs_.find(pid);
    leave_mm(program->second.mm, pid);
    groups_[program->second.group].processes.erase(pid);
    programs_.erase(program);
}

std::vector<TracedGroup> TracedGroups::groups() {
    std::map<std::string, TracedGroup> reported;
    for (auto &[name, entry] : groups_) {
        if (entry.quiet) continue;
        entry.quiet = entry.processes.empty() && entry.mms == 0;
        TracedGroup &group = reported[name] = entry.group;
        group.processes = static_cast<std::int64_t>(entry.processes.size());
    }
    for (const auto &[id, mm] : mms_)
        reported[mm.group].counts += mm.counts;
    for (const auto &[pid, program] : programs_)
        reported[program.group].needs_resync += program.needs_resync ? 1 : 0;
    std::vector<TracedGroup> groups;
    groups.reserve(reported.size());
    for (auto &[name, group] : reported)
        groups.push_back(std::move(group));
    return groups;
}

}  // namespace rsslag::metrics
