// SPDX-License-Identifier: BSD-2-Clause
// Replaces live_source.cpp in a build without the tracer.
#include "live_source.h"

namespace rsslag::tracer {

core::Result<std::unique_ptr<Source>> open_live_source(const LiveOptions & /*options*/) {
    return core::Error{core::Kind::Unsupported, "this rsslag was built without the tracer", 0,
                       "build it with -DRSSLAG_PROBE=ON"};
}

}  // namespace rsslag::tracer
