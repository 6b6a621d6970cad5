// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <bpf/libbpf.h>

#include <memory>

namespace rsslag::probe {

class KernelTypes;

/// Registers the types in which BTF ids for programs are found, for objects opened from now on: those of the functions
/// and tracepoints that programs of the sections "tp_btf/NAME", "fentry/NAME", "fexit/NAME" and "iter/NAME" attach to,
/// and that of the function for which a program has RSSLAG_RDONLY_CAST. Otherwise libbpf reads and parses the BTF of
/// the kernel again for each object, and a program that calls this function is refused. The first call counts: its
/// handlers are never unregistered, since libbpf 1.1 frees its list of handlers with the last one and then uses the
/// freed list. `kernel`: BTF of the running kernel; null: libbpf searches as usual.
void find_ids_in(const std::shared_ptr<const KernelTypes> &kernel);

/// bpf_program__attach(), which fails for programs of these sections since their handlers attach nothing.
bpf_link *attach(const bpf_program *program);

}  // namespace rsslag::probe
