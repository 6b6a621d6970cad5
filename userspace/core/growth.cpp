// SPDX-License-Identifier: BSD-2-Clause
#include "core/growth.h"

namespace rsslag::core {

std::string_view name(NoFault why) {
    switch (why) {
        case NoFault::Populated: return "populated";
        case NoFault::GivenUp: return "given_up";
        case NoFault::ByOthers: return "by_others";
        case NoFault::NotRecorded: break;
    }
    return "not_told";
}

std::string_view describe(NoFault why) {
    switch (why) {
        case NoFault::Populated: return "no fault: populated";
        case NoFault::GivenUp: return "no fault: released (munmap, madvise)";
        case NoFault::ByOthers: return "no fault: by other processes (reclaim, process_madvise, truncate)";
        case NoFault::NotRecorded: break;
    }
    return "no record reports this";
}

}  // namespace rsslag::core
