// SPDX-License-Identifier: BSD-2-Clause
#include "system/file_rights.h"

#include <fcntl.h>
#include <sys/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <type_traits>

#include "system/command.h"

namespace rsslag::system {
namespace {

using Capabilities = std::unique_ptr<std::remove_pointer_t<cap_t>, decltype(&cap_free)>;

bool may_write(const std::string &directory) {
    return faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
}

bool may_write_as(const FileIds &ids, const std::string &directory) {
    const FileAccess access(ids);
    return may_write(directory);
}

/// Whether this process may write there by the modes of the directories alone. If that cannot be tried: true.
bool may_write_without_capabilities(const std::string &directory) {
    constexpr std::array<cap_value_t, 2> kOverriding{CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH};
    const Capabilities now(cap_get_proc(), &cap_free);
    const Capabilities fewer(cap_get_proc(), &cap_free);
    if (!now || !fewer ||
        cap_set_flag(fewer.get(), CAP_EFFECTIVE, static_cast<int>(kOverriding.size()), kOverriding.data(), CAP_CLEAR) !=
            0 ||
        cap_set_proc(fewer.get()) != 0)
        return true;
    const bool may = may_write(directory);
    cap_set_proc(now.get());
    return may;
}

}  // namespace

FileAccess::FileAccess(const std::optional<FileIds> &ids) : on_(ids.has_value()) {
    if (!on_) return;
    dumpable_ = prctl(PR_GET_DUMPABLE);
    setfsgid(ids->gid);
    setfsuid(ids->uid);
}

FileAccess::~FileAccess() {
    if (!on_) return;
    setfsuid(geteuid());
    setfsgid(getegid());
    if (dumpable_ == 1) prctl(PR_SET_DUMPABLE, 1);  // a change of ids resets it
}

core::Result<std::optional<FileIds>> ids_to_write(const std::string &path) {
    using Ids = std::optional<FileIds>;
    const auto user = invoking_user();
    if (!user) return user.error();
    std::error_code unknown;
    const std::string directory = std::filesystem::absolute(path, unknown).parent_path();
    const Ids invoking = *user ? Ids(FileIds{(*user)->uid, (*user)->gid}) : std::nullopt;
    if (invoking && may_write_as(*invoking, directory)) return invoking;
    if (geteuid() != 0 || may_write_without_capabilities(directory)) return Ids{};
    struct stat there {};
    if (stat(directory.c_str(), &there) != 0) return Ids{};
    const FileIds owner{there.st_uid, there.st_gid};
    return may_write_as(owner, directory) ? Ids(owner) : Ids{};
}

}  // namespace rsslag::system
