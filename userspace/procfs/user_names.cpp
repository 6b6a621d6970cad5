// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/user_names.h"

#include <pwd.h>

namespace rsslag::procfs {

const std::string &UserNames::of(uid_t uid) {
    const auto [at, unseen] = names_.try_emplace(uid);
    if (unseen) {
        const passwd *const entry = getpwuid(uid);
        at->second = entry != nullptr ? std::string(entry->pw_name) : std::to_string(uid);
    }
    return at->second;
}

}  // namespace rsslag::procfs
