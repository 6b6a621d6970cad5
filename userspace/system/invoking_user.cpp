// SPDX-License-Identifier: BSD-2-Clause
#include "system/invoking_user.h"

#include <grp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "system/command.h"
#include "system/privileges.h"

namespace rsslag::system {

core::Status drop_to_invoking_user() {
    const auto user = invoking_user();
    if (!user) return user.error();
    if (*user) {
        const Identity &id = **user;
        // setresuid() must be last, as it gives up the capabilities that the other steps need.
        const bool grouped = id.name.empty() ? setgroups(1, &id.gid) == 0 : initgroups(id.name.c_str(), id.gid) == 0;
        if (!grouped || setresgid(id.gid, id.gid, id.gid) != 0 || setresuid(id.uid, id.uid, id.uid) != 0) {
            return core::Error{core::Kind::Denied,
                               std::string("cannot become the invoking user: ") + std::strerror(errno), errno, ""};
        }
    }
    return keep_only({});
}

}  // namespace rsslag::system
