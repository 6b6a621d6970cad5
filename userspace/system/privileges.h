// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/capability.h>
#include <sys/types.h>

#include <span>

#include "core/result.h"

namespace rsslag::system {

/// Drops all capabilities except those in `keep`, from all sets and for good. Capabilities are per thread
/// (capabilities(7)): Kind::Internal if there is a second thread, which would keep them.
core::Status keep_only(std::span<const cap_value_t> keep);

/// Sets the saved user and group id, so that this process can access files as that user (setfsuid(2)) even without
/// capabilities. Kind::Denied if the kernel refuses.
core::Status set_saved_ids(uid_t uid, gid_t gid);

}  // namespace rsslag::system
