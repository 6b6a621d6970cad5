// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "fold_search.h"
#include "rsslag/abi.h"
#include "rsslag/core/units.h"

namespace rsslag::core {

inline FoldCause cause_of(const rsslag_update &update) {
    if ((update.flags & RSSLAG_TEARDOWN) != 0) return FoldCause::Teardown;
    if ((update.flags & RSSLAG_NEWBORN) != 0) return FoldCause::Copy;
    if ((update.flags & (RSSLAG_OF_USER_FAULT | RSSLAG_OF_KERNEL_FAULT)) == 0) return FoldCause::Other;
    return update.member == static_cast<std::uint8_t>(Member::Anon) ? FoldCause::AnonFault : FoldCause::PageFault;
}

}  // namespace rsslag::core
