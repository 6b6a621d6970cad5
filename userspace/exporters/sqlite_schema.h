// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace rsslag::exporters {

/// CREATE statements of the tables, with comments on their units; sqlite3's .schema shows them.
std::string sqlite_tables();
/// CREATE statements of the indexes. They are created after all rows are inserted, which is cheapest.
const char *sqlite_indexes();

}  // namespace rsslag::exporters
