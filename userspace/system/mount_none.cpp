// SPDX-License-Identifier: BSD-2-Clause
// Replaces mount.cpp in a build without the tracer.
#include "system/mount.h"

namespace rsslag::system {

core::Status mount_files(const MountOptions & /*options*/) {
    return core::Error{core::Kind::Unsupported, "this rsslag was built without the tracer", 0,
                       "build it with -DRSSLAG_PROBE=ON"};
}

}  // namespace rsslag::system
