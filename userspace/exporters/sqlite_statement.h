// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/member_name.h"
#include "core/result.h"
#include "core/text.h"
#include "core/units.h"
#include "row_fields.h"

namespace rsslag::exporters {

struct CloseDatabase {
    void operator()(sqlite3 *database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

core::Error sqlite_error(sqlite3 *database);

/// A prepared insert into one table: set() or set_fields() the values by the names of columns, then run(). A column
/// without a value is NULL.
class Statement {
  public:
    static core::Result<Statement> insert(sqlite3 *database, std::string_view table);

    Statement() = default;

    /// Does nothing if the table has no such column.
    template <class Value>
    Statement &set(std::string_view column, const Value &value) {
        if (const int at = position_of(column); at != 0) bind(at, value);
        return *this;
    }
    /// Sets the columns that have the names of members.
    template <class Value>
    Statement &set_members(const Value &value_of) {
        for (const core::Member member : core::kMembersInOrder)
            set(core::name(member), value_of(member));
        return *this;
    }
    /// Sets each field of the row that the table has a column for.
    template <class Row>
    Statement &set_fields(const Row &row, const core::PageSize &page_size) {
        const auto put = [this](std::size_t column, const auto &value) {
            if (positions_[column] != 0) bind(positions_[column], value);
        };
        put_fields(row, page_size, put);
        return *this;
    }

    /// Runs the insert. A std::string_view that was set must live until this call. Kind::Io if it fails.
    core::Status run();

  private:
    struct Finalize {
        void operator()(sqlite3_stmt *statement) const { sqlite3_finalize(statement); }
    };

    static core::Result<Statement> prepare(sqlite3 *database, const std::string &sql);

    explicit Statement(sqlite3_stmt *statement) : statement_(statement) {}
    /// From 1; 0: the table has no such column.
    int position_of(std::string_view column) const;

    template <class Value>
    void bind(int at, const std::optional<Value> &value) {
        value ? bind(at, *value) : void(sqlite3_bind_null(statement_.get(), at));
    }
    void bind(int at, std::string_view text) {
        sqlite3_bind_text(statement_.get(), at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    }
    /// A copy, since the value may be gone before run().
    void bind(int at, const std::string &text) {
        sqlite3_bind_text(statement_.get(), at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    }
    void bind(int at, Raw raw) { bind(at, core::printable(raw.bytes)); }
    void bind(int at, Hex hex) { bind(at, hex.number); }
    void bind(int at, Id id) { bind(at, id.number); }
    template <class Number>
    void bind(int at, Number number) requires std::is_integral_v<Number> {
        sqlite3_bind_int64(statement_.get(), at, static_cast<sqlite3_int64>(number));
    }
    void bind(int at, core::Pages pages) { bind(at, pages.n); }
    void bind(int at, core::Kilobytes kb) { bind(at, kb.n); }

    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    std::vector<std::string> columns_;
    std::array<int, kColumns> positions_{};  ///< of each field, as position_of()
};

}  // namespace rsslag::exporters
