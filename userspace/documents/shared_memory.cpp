// SPDX-License-Identifier: BSD-2-Clause
// Processes that share one mm (CLONE_VM without CLONE_THREAD, vfork): their rows must not be added up.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/text.h"
#include "top_rows.h"

namespace rsslag::documents {

std::string shared_line(const std::vector<int> &pids) {
    constexpr std::size_t kMost = 8;
    if (pids.size() < 2) return "";
    const std::size_t named = pids.size() > kMost ? kMost : pids.size() - 1;
    std::string text = std::to_string(pids.front());
    for (std::size_t i = 1; i < named; ++i)
        text += fmt::format(", {}", pids[i]);
    const std::string last = pids.size() > kMost
                                 ? core::with_thousands(static_cast<std::int64_t>(pids.size() - named)) + " more"
                                 : std::to_string(pids.back());
    return fmt::format("{} and {} share one memory: it is counted once\n", text, last);
}

std::vector<std::vector<int>> sharing(const std::vector<TopProcess> &processes) {
    std::map<std::uint64_t, std::vector<int>> by_mm;
    for (const TopProcess &process : processes) {
        if (process.total.tgid > 0) by_mm[process.total.mm].push_back(process.total.tgid);
    }
    std::vector<std::vector<int>> groups;
    for (auto &[mm, pids] : by_mm) {
        if (pids.size() < 2) continue;
        std::sort(pids.begin(), pids.end());
        groups.push_back(std::move(pids));
    }
    std::sort(groups.begin(), groups.end());
    return groups;
}

}  // namespace rsslag::documents
