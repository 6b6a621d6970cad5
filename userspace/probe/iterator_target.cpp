// SPDX-License-Identifier: BSD-2-Clause
#include "iterator_target.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <tuple>

namespace rsslag::probe {
namespace {

/// Sets the type as late as this: libbpf loads all of the kernel's BTF for an object that has a program of
/// BPF_PROG_TYPE_TRACING when the object's load starts.
int target_function(bpf_program *program, bpf_prog_load_opts *options, long function) {
    options->attach_btf_id = static_cast<unsigned>(function);
    return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
}

int handle(unsigned function) {
    LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = static_cast<long>(function),
                .prog_prepare_load_fn = target_function);
    return libbpf_register_prog_handler("iter/task", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_ITER, &options);
}

}  // namespace

void name_iterator_target(unsigned function) {
    if (function == 0) return;
    static const int handler = handle(function);
    std::ignore = handler;
}

}  // namespace rsslag::probe
