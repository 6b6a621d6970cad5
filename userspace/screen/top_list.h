// SPDX-License-Identifier: BSD-2-Clause
// The rows of the screen of top, in the order in which they are drawn.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "documents/top.h"
#include "groups.h"
#include "screen/screen.h"

namespace rsslag::screen {

/// The keys of `s`, in this order: sizes and numbers of tasks descending, names and PIDs ascending.
enum class TopOrder : std::uint8_t {
    Lag,
    Exact,
    Cached,
    Name,
    LagPercent,
    Stat,
    Tasks,
    Cachers,
    Pid,
    User,
    Cgroup,
    Command
};
inline constexpr int kTopOrders = 12;

TopOrder order_of(TopSort sort);
std::string_view name(TopOrder order);
/// The order by the column with this heading; nullopt: there is none.
std::optional<TopOrder> order_by(std::string_view heading);

/// The user's choices in the list.
struct TopChoices {
    TopOrder order = TopOrder::Lag;
    bool reversed = false;
    Shape shape = Shape::Flat;
    std::string filter;
    std::set<std::string_view> hidden;  ///< headings of columns
};

struct TopRow {
    int id = 0;                           ///< host TGID, or group_id()
    const TopProcess *process = nullptr;  ///< of the table; null: the row of a group
    std::string branch;                   ///< the lines of the tree before the name
    std::string cgroup{};                 ///< of the row of a group
    std::vector<const TopProcess *> members{};
};

void sort_rows(std::vector<TopProcess> &processes, const TopChoices &choices);

/// The rows of a sorted table that match the filter.
std::vector<TopRow> rows_of(const TopTable &table, const TopChoices &choices, bool utf8);

}  // namespace rsslag::screen
