// SPDX-License-Identifier: BSD-2-Clause
// One line of CSV (RFC 4180): the names and the texts of its cells.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "core/member_name.h"
#include "core/tick_columns.h"

namespace rsslag::documents {

class CsvCells {
  public:
    void put(std::string_view name, std::string_view text);
    void put(std::string_view name, std::integral auto number) { put(name, std::to_string(number)); }
    /// An unknown value is an empty cell.
    template <class Value>
    void put(std::string_view name, const std::optional<Value> &value) {
        value ? put(name, *value) : put(name, std::string_view());
    }
    /// `arguments`: what the column's value is computed from.
    template <class Value, class... Arguments>
    void put(const core::Column<Value> &column, const Arguments &...arguments) {
        put(column.name, column.value(arguments...));
    }
    template <class... Values, class... Arguments>
    void put(const std::tuple<Values...> &columns, const Arguments &...arguments) {
        std::apply([&](const auto &...column) { (put(column, arguments...), ...); }, columns);
    }
    void put(const core::MembersColumn &column, const core::TickFigures &figures);

    [[nodiscard]] std::string names_line() const { return names_ + "\r\n"; }
    [[nodiscard]] std::string line() const { return texts_ + "\r\n"; }

  private:
    std::string names_, texts_;
};

}  // namespace rsslag::documents
