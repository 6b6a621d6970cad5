// SPDX-License-Identifier: BSD-2-Clause
#include "system/invoking_user.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "core/text.h"
#include "system/command.h"
#include "system/file_rights.h"
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

core::Result<core::Fd> create_as_invoking_user(const std::string &path) {
    const auto user = invoking_user();
    if (!user) return user.error();
    core::Fd file;
    int reason = 0;
    {
        const FileAccess access(*user ? std::optional(FileIds{(*user)->uid, (*user)->gid}) : std::nullopt);
        file = core::Fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666));
        reason = errno;
    }
    if (file.open()) return file;
    return core::Error{core::Kind::Io,
                       fmt::format("cannot create {}: {}", core::printable(path), std::strerror(reason)), reason,
                       "name a file in an existing, writable directory"};
}

}  // namespace rsslag::system
