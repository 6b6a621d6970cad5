// SPDX-License-Identifier: BSD-2-Clause
// Built without the tracer.
#include "bpf_way.h"

namespace rsslag::lib {

Opened open_bpf(core::Machine /*machine*/, bool /*wanted*/) {
    return {std::nullopt, core::Error{core::Kind::Unsupported, "this librsslag was built without BPF", 0,
                                      "use one that was built with -DRSSLAG_PROBE=ON"}};
}

}  // namespace rsslag::lib
