// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "rsslag/core/result.h"
#include "rsslag/core/units.h"

namespace rsslag::sinks {

struct CloseDatabase {
    void operator()(sqlite3 *database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

core::Error sqlite_error(sqlite3 *database);

/// A prepared insert: add() each value in the order of the columns, then run().
class Statement {
  public:
    static core::Result<Statement> prepare(sqlite3 *database, const std::string &sql);
    /// Prepares INSERT INTO `table` with `columns` values.
    static core::Result<Statement> insert(sqlite3 *database, std::string_view table, int columns);

    Statement() = default;

    template <class Value>
    Statement &add(const Value &value) {
        bind(++at_, value);
        return *this;
    }
    /// Adds file, anon, shmem, swap and, with `with_rss`, rss.
    Statement &add_members(const core::Members &members, bool with_rss = true);

    /// Runs the insert. Texts that were added must live until this call. Kind::Io if it fails.
    core::Status run();

  private:
    struct Finalize {
        void operator()(sqlite3_stmt *statement) const { sqlite3_finalize(statement); }
    };

    explicit Statement(sqlite3_stmt *statement) : statement_(statement) {}

    template <class Value>
    void bind(int at, const std::optional<Value> &value) {
        value ? bind(at, *value) : void(sqlite3_bind_null(statement_.get(), at));
    }
    void bind(int at, std::string_view text) {
        sqlite3_bind_text(statement_.get(), at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    }
    template <class Number>
    void bind(int at, Number number) requires std::is_integral_v<Number> {
        sqlite3_bind_int64(statement_.get(), at, static_cast<sqlite3_int64>(number));
    }
    void bind(int at, core::Pages pages) { bind(at, pages.n); }
    void bind(int at, core::Kilobytes kb) { bind(at, kb.n); }

    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    int at_ = 0;
};

}  // namespace rsslag::sinks
