// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace rsslag::recording {

/// Tables, with their units; what a reader of the file sees as .schema.
extern const char *const kSqliteTables;
/// Made when all rows are in: so they cost least.
extern const char *const kSqliteIndexes;

}  // namespace rsslag::recording
