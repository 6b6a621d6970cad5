// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace rsslag::probe {

/// Tells libbpf what programs of section "iter/task" are attached to, of objects that are opened from now on: it would
/// make a copy of all types that the kernel has, for each object, to find this one number. For good, as there is one
/// kernel; and libbpf 1.1 goes on to use its list of handlers after it has freed it with the last one.
/// `function`: the kernel's id of its function bpf_iter_task; 0: libbpf looks for it.
void name_iterator_target(unsigned function);

}  // namespace rsslag::probe
