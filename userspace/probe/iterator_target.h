// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace rsslag::probe {

/// Registers the BTF id that programs of section "iter/task" attach to, for objects opened from now on. Otherwise
/// libbpf copies all of the kernel's types, for each object, to find this number. The handler is never unregistered,
/// since libbpf 1.1 frees its list of handlers with the last one and then uses the freed list.
/// `function`: BTF id of the kernel's bpf_iter_task(); 0: libbpf searches for it.
void name_iterator_target(unsigned function);

}  // namespace rsslag::probe
