// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace rsslag::sinks {

/// Tables, with their units; what a reader of the file sees as .schema.
const char *sqlite_tables();
/// Made when all rows are in: so they cost least.
const char *sqlite_indexes();

}  // namespace rsslag::sinks
