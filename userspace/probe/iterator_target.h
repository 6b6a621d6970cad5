// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace rsslag::probe {

/// Registers the BTF id that programs of section "iter/task" attach to, for objects opened from now on. Otherwise
/// libbpf copies all of the kernel's types, for each object, to find this number. Never unregistered: libbpf 1.1 uses
/// its list of handlers after it has freed it with the last one.
/// `function`: BTF id of the kernel's bpf_iter_task(); 0: libbpf searches for it.
void name_iterator_target(unsigned function);

}  // namespace rsslag::probe
