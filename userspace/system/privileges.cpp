// SPDX-License-Identifier: BSD-2-Clause
#include "system/privileges.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace rsslag::system {
namespace {

using Caps = std::unique_ptr<std::remove_pointer_t<cap_t>, decltype(&cap_free)>;

core::Error cannot_drop() {
    return {core::Kind::Internal, std::string("cannot drop capabilities: ") + std::strerror(errno), errno, ""};
}

/// unshare(CLONE_THREAD) returns EINVAL if there is another thread, else does nothing (kernel/fork.c
/// check_unshare_flags()). Needs neither /proc nor a privilege.
bool is_only_thread() {
    return unshare(CLONE_THREAD) == 0 || errno != EINVAL;
}

}  // namespace

core::Status keep_only(std::span<const cap_value_t> keep) {
    if (!is_only_thread()) {
        return core::Error{core::Kind::Internal,
                           "cannot drop capabilities: another thread is running and would keep them", 0, ""};
    }
    const Caps now(cap_get_proc(), cap_free);
    const Caps then(cap_init(), cap_free);
    if (now == nullptr || then == nullptr) return cannot_drop();
    for (const cap_value_t cap : keep) {
        for (const cap_flag_t flag : {CAP_PERMITTED, CAP_EFFECTIVE}) {
            cap_flag_value_t value = CAP_CLEAR;
            cap_get_flag(now.get(), cap, flag, &value);
            if (cap_set_flag(then.get(), flag, 1, &cap, value) != 0) return cannot_drop();
        }
    }
    if (cap_set_proc(then.get()) != 0) return cannot_drop();
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return cannot_drop();
    return core::success();
}

core::Status set_saved_ids(uid_t uid, gid_t gid) {
    constexpr auto kSame = static_cast<uid_t>(-1);
    if (setresgid(kSame, kSame, gid) == 0 && setresuid(kSame, kSame, uid) == 0) return core::success();
    return core::Error{core::Kind::Denied, fmt::format("cannot create files as user {}: {}", uid, std::strerror(errno)),
                       errno, ""};
}

}  // namespace rsslag::system
