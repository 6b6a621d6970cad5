// SPDX-License-Identifier: BSD-2-Clause
#include "shared_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text.h"

namespace rsslag::core {

std::string shared_line(const std::vector<int> &pids, bool summed) {
    constexpr std::size_t kMost = 8;
    if (pids.size() < 2) return "";
    const std::size_t named = pids.size() > kMost ? kMost : pids.size() - 1;
    std::string text = std::to_string(pids.front());
    for (std::size_t i = 1; i < named; ++i)
        text += fmt::format(", {}", pids[i]);
    const std::string last = pids.size() > kMost
                                 ? with_thousands(static_cast<std::int64_t>(pids.size() - named)) + " more"
                                 : std::to_string(pids.back());
    return fmt::format("{} and {} share one memory: {}\n", text, last,
                       summed ? "it is counted once" : "each row shows all of it");
}

std::vector<std::vector<int>> sharing(std::map<std::uint64_t, std::vector<int>> by_mm) {
    std::vector<std::vector<int>> groups;
    for (auto &each : by_mm) {
        std::vector<int> &pids = each.second;
        std::sort(pids.begin(), pids.end());
        pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
        if (pids.size() > 1) groups.push_back(std::move(pids));
    }
    std::sort(groups.begin(), groups.end());
    return groups;
}

}  // namespace rsslag::core
