// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/capability.h>
#include <sys/types.h>

#include <span>

#include "rsslag/core/result.h"

namespace rsslag::host {

/// Gives up every capability but those in `keep` that it has, in all sets, for good. Each thread has its own
/// (capabilities(7)): once there is a second thread, which would go on with all of them, this is Kind::Internal.
core::Status keep_only(std::span<const cap_value_t> keep);

/// From now on this process may act on files as this user (setfsuid), also when it has no capability any more.
core::Status may_become(uid_t uid, gid_t gid);

}  // namespace rsslag::host
