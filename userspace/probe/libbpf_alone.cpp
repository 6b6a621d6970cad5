// SPDX-License-Identifier: BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "probe/libbpf_log.h"

namespace rsslag::probe {

void silence_libbpf() {
    libbpf_set_print(nullptr);
    libbpf_set_memlock_rlim(0);
}

}  // namespace rsslag::probe
