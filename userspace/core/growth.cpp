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
        case NoFault::Populated: return "by no fault: populated";
        case NoFault::GivenUp: return "by no fault: given up (munmap, madvise)";
        case NoFault::ByOthers: return "by no fault: by other processes (reclaim)";
        case NoFault::NotRecorded: break;
    }
    return "no record reports this";
}

}  // namespace rsslag::core
