// SPDX-License-Identifier: BSD-2-Clause
#include "sqlite_statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rsslag::exporters {

core::Error sqlite_error(sqlite3 *database) {
    return {core::Kind::Io, fmt::format("cannot write the database: {}", sqlite3_errmsg(database)),
            database == nullptr ? 0 : sqlite3_system_errno(database), ""};
}

core::Result<Statement> Statement::prepare(sqlite3 *database, const std::string &sql) {
    sqlite3_stmt *statement = nullptr;
    if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return sqlite_error(database);
    return Statement(statement);
}

core::Result<Statement> Statement::insert(sqlite3 *database, std::string_view table) {
    const auto all = prepare(database, fmt::format("SELECT * FROM {}", table));
    if (!all) return all.error();
    const int count = sqlite3_column_count(all->statement_.get());
    std::vector<std::string> columns;
    columns.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
        columns.emplace_back(sqlite3_column_name(all->statement_.get(), i));
    const std::string values(columns.size(), '?');
    auto insert = prepare(database, fmt::format("INSERT INTO {} VALUES ({})", table, fmt::join(values, ",")));
    if (!insert) return insert;
    insert->columns_ = std::move(columns);
    for (std::size_t field = 0; field < kColumns; ++field)
        insert->positions_[field] = insert->position_of(column_names()[field]);
    return insert;
}

int Statement::position_of(std::string_view column) const {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    return found == columns_.end() ? 0 : static_cast<int>(found - columns_.begin()) + 1;
}

core::Status Statement::run() {
    const int stepped = sqlite3_step(statement_.get());
    sqlite3 *const database = sqlite3_db_handle(statement_.get());
    core::Status done = core::success();
    if (stepped != SQLITE_DONE) done = sqlite_error(database);
    sqlite3_reset(statement_.get());
    sqlite3_clear_bindings(statement_.get());
    return done;
}

}  // namespace rsslag::exporters
