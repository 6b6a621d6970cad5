// SPDX-License-Identifier: BSD-2-Clause
#include "commit.h"

namespace rsslag::cli {

const char *commit() {
    return RSSLAG_COMMIT;
}

}  // namespace rsslag::cli
