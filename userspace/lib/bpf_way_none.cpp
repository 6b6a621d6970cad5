// SPDX-License-Identifier: BSD-2-Clause
// For a build without the tracer (-DRSSLAG_PROBE=OFF).
#include "bpf_way.h"

namespace rsslag::lib {

Opened open_bpf(core::Machine /*machine*/, bool /*allowed*/) {
    return {std::nullopt, core::Error{core::Kind::Unsupported, "this librsslag was built without BPF", 0,
                                      "use a librsslag that was built with -DRSSLAG_PROBE=ON"}};
}

}  // namespace rsslag::lib
