// SPDX-License-Identifier: BSD-2-Clause
#include "sqlite_statement.h"

#include <fmt/format.h>

namespace rsslag::sinks {

core::Error sqlite_error(sqlite3 *database) {
    return {core::Kind::Io, fmt::format("cannot write the database: {}", sqlite3_errmsg(database)),
            database == nullptr ? 0 : sqlite3_system_errno(database), ""};
}

core::Result<Statement> Statement::prepare(sqlite3 *database, const std::string &sql) {
    sqlite3_stmt *statement = nullptr;
    if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return sqlite_error(database);
    return Statement(statement);
}

core::Result<Statement> Statement::insert(sqlite3 *database, std::string_view table, int columns) {
    std::string positions = "?";
    for (int i = 1; i < columns; ++i)
        positions += ",?";
    return prepare(database, fmt::format("INSERT INTO {} VALUES ({})", table, positions));
}

Statement &Statement::add_members(const core::Members &members, bool with_rss) {
    add(members.file).add(members.anon).add(members.shmem).add(members.swap);
    return with_rss ? add(members.rss()) : *this;
}

core::Status Statement::run() {
    const int stepped = sqlite3_step(statement_.get());
    sqlite3 *const database = sqlite3_db_handle(statement_.get());
    at_ = 0;
    if (stepped != SQLITE_DONE) {
        core::Error error = sqlite_error(database);
        sqlite3_reset(statement_.get());
        return error;
    }
    sqlite3_reset(statement_.get());
    return core::success();
}

}  // namespace rsslag::sinks
