// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

namespace rsslag::procfs {

/// Names of users, from the user database. Looks up each user once.
class UserNames {
  public:
    /// The number if the user has no name.
    const std::string &of(uid_t uid);

  private:
    std::map<uid_t, std::string> names_;
};

}  // namespace rsslag::procfs
