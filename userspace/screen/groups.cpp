// SPDX-License-Identifier: BSD-2-Clause
#include "groups.h"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>

namespace rsslag::screen {
namespace {

/// The id of a container in the last part of its path; empty: it is none.
std::string_view container_of(std::string_view unit) {
    constexpr std::size_t kDigits = 64;
    for (const std::string_view prefix : {"docker-", "libpod-", "cri-containerd-", "crio-", ""}) {
        if (!unit.starts_with(prefix)) continue;
        const std::string_view rest = unit.substr(prefix.size());
        const bool ends = rest.size() == kDigits || rest.substr(std::min(kDigits, rest.size())) == ".scope";
        const std::string_view id = rest.substr(0, kDigits);
        if (ends && id.size() == kDigits && id.find_first_not_of("0123456789abcdef") == std::string_view::npos)
            return id;
    }
    return "";
}

}  // namespace

Shape next(Shape shape, bool cgroups) {
    switch (shape) {
        case Shape::Flat: return Shape::Parents;
        case Shape::Parents: return cgroups ? Shape::Cgroups : Shape::Flat;
        case Shape::Cgroups: break;
    }
    return Shape::Flat;
}

std::string_view text_of(Shape shape) {
    switch (shape) {
        case Shape::Flat: return "";
        case Shape::Parents: return ", as a tree";
        case Shape::Cgroups: break;
    }
    return ", by cgroup";
}

std::string cgroup_text(std::string_view cgroup) {
    constexpr std::size_t kShown = 12;  // digits, as docker ps shows
    if (cgroup.empty()) return "cgroup not known";
    if (cgroup == "/") return "/";
    const std::string_view id = container_of(cgroup.substr(cgroup.rfind('/') + 1));
    if (!id.empty()) return "container " + std::string(id.substr(0, kShown));
    return std::string(cgroup.starts_with('/') ? cgroup.substr(1) : cgroup);
}

std::vector<Group> groups_of(const std::vector<std::string_view> &cgroups) {
    std::vector<Group> groups;
    std::unordered_map<std::string_view, std::size_t> numbers;
    for (std::size_t row = 0; row < cgroups.size(); ++row) {
        const auto [found, is_new] = numbers.emplace(cgroups[row], groups.size());
        if (is_new) groups.push_back({std::string(cgroups[row]), {}});
        groups[found->second].rows.push_back(row);
    }
    return groups;
}

int group_id(std::string_view cgroup) {
    constexpr std::size_t kMost = 0x3fff'ffff;
    return -2 - static_cast<int>(std::hash<std::string_view>()(cgroup) & kMost);
}

}  // namespace rsslag::screen
