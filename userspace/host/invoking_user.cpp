// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/host/invoking_user.h"

#include <grp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "rsslag/host/command.h"
#include "rsslag/host/privileges.h"

namespace rsslag::host {

core::Status drop_to_invoking_user() {
    const auto user = invoking_user();
    if (!user) return user.error();
    if (*user) {
        const Identity &who = **user;
        // setresuid() must be last, as it gives up the capabilities that the other steps need.
        const bool grouped =
            who.name.empty() ? setgroups(1, &who.gid) == 0 : initgroups(who.name.c_str(), who.gid) == 0;
        if (!grouped || setresgid(who.gid, who.gid, who.gid) != 0 || setresuid(who.uid, who.uid, who.uid) != 0) {
            return core::Error{core::Kind::Denied,
                               std::string("cannot become the invoking user: ") + std::strerror(errno), errno, ""};
        }
    }
    return keep_only({});
}

}  // namespace rsslag::host
