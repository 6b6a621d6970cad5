// SPDX-License-Identifier: BSD-2-Clause
#include "metrics/groups.h"

#include <algorithm>
#include <utility>

namespace rsslag::metrics {

void oldest_first(std::vector<core::ProcessTotal> &processes) {
    std::stable_sort(processes.begin(), processes.end(),
                     [](const auto &a, const auto &b) { return a.started_ns < b.started_ns; });
}

void Grouping::add(const std::string &name, const core::ProcessTotal &process) {
    Group &group = groups_[name];
    group.name = name;
    group.add(process, machine_, mms_.insert(process.mm).second);
}

void Grouping::add(const std::string &name, const core::ProcReading &process) {
    Group &group = groups_[name];
    group.name = name;
    group.add(process);
}

std::vector<Group> Grouping::take(std::size_t most) {
    mms_.clear();
    std::vector<Group> groups;
    for (auto &[name, group] : std::exchange(groups_, {}))
        groups.push_back(std::move(group));
    std::stable_sort(groups.begin(), groups.end(), [](const Group &a, const Group &b) { return b.rss() < a.rss(); });
    if (groups.size() <= most) return groups;
    Group other;
    other.name = kOther;
    const auto first = groups.begin() + static_cast<std::ptrdiff_t>(most);
    std::for_each(first, groups.end(), [&other](const Group &group) { other += group; });
    groups.erase(first, groups.end());
    const auto same = std::find_if(groups.begin(), groups.end(), [](const Group &each) { return each.name == kOther; });
    if (same != groups.end()) {
        *same += other;
    } else {
        groups.push_back(std::move(other));
    }
    return groups;
}

}  // namespace rsslag::metrics
