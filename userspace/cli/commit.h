// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace rsslag::cli {

/// The commit that was built, abbreviated; "unknown" outside of a clone.
const char *commit();

}  // namespace rsslag::cli
