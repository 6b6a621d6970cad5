// SPDX-License-Identifier: BSD-2-Clause
// Rows of processes in groups by cgroup, each below a row for the group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rsslag::screen {

/// How a list of processes is arranged.
enum class Shape : std::uint8_t { Flat, Parents, Cgroups };

/// The next one, for the key v. Without `cgroups` they are not known.
Shape next(Shape shape, bool cgroups);
/// "", ", as a tree" or ", by cgroup", for a title.
std::string_view text_of(Shape shape);

/// "container 0123456789ab" for the cgroup of a container (Docker, Podman, containerd, CRI-O), else the path without
/// its first slash. "/" for the root, "cgroup not known" for an empty path.
std::string cgroup_text(std::string_view cgroup);

struct Group {
    std::string cgroup;
    std::vector<std::size_t> rows;  ///< indices, in their order
};

/// The groups of rows, by the cgroup of each. The group of the first row is the first one, and so on.
std::vector<Group> groups_of(const std::vector<std::string_view> &cgroups);

/// Identifies the row of a group among PIDs: below -1.
int group_id(std::string_view cgroup);

/// Puts the rows of processes below rows of their cgroups. A Row has these fields: its id, its process, the text before
/// the name, a cgroup and the members; the last two are of the row of a group.
template <class Row, class CgroupOf>
std::vector<Row> grouped(const std::vector<Row> &rows, CgroupOf cgroup_of) {
    std::vector<std::string_view> cgroups;
    cgroups.reserve(rows.size());
    for (const Row &row : rows)
        cgroups.push_back(cgroup_of(row));
    std::vector<Row> placed;
    placed.reserve(2 * rows.size());
    for (Group &group : groups_of(cgroups)) {
        Row head{group_id(group.cgroup), nullptr, "", std::move(group.cgroup), {}};
        for (const std::size_t row : group.rows)
            head.members.push_back(rows[row].process);
        placed.push_back(std::move(head));
        for (const std::size_t row : group.rows) {
            placed.push_back(rows[row]);
            placed.back().branch = "  ";
        }
    }
    return placed;
}

}  // namespace rsslag::screen
