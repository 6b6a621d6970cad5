// SPDX-License-Identifier: BSD-2-Clause
#include "kernel_ids.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "kernel_types.h"
#include "rsslag/abi.h"

namespace rsslag::probe {
namespace {

/// What programs of a section attach to.
struct Target {
    const char *section;  ///< up to the name
    bpf_attach_type attach;
    const char *prefix;  ///< of the type's name in BTF, before the name
    unsigned kind;
};
constexpr std::array<Target, 4> kTargets{{{"tp_btf/", BPF_TRACE_RAW_TP, "btf_trace_", BTF_KIND_TYPEDEF},
                                          {"fentry/", BPF_TRACE_FENTRY, "", BTF_KIND_FUNC},
                                          {"fexit/", BPF_TRACE_FEXIT, "", BTF_KIND_FUNC},
                                          {"iter/", BPF_TRACE_ITER, "bpf_iter_", BTF_KIND_FUNC}}};

std::shared_ptr<const KernelTypes> &kernel_types() {
    static std::shared_ptr<const KernelTypes> types;
    return types;
}

/// A BTF id of the kernel, or -ESRCH.
int find(const std::string &name, unsigned kind) {
    const unsigned id = kernel_types()->find(name.c_str(), kind);
    return id == 0 ? -ESRCH : static_cast<int>(id);
}

/// Makes calls of RSSLAG_RDONLY_CAST calls of this function of the kernel. 0, or a negative errno.
int name_functions(bpf_program *program) {
    const bpf_insn *const begin = bpf_program__insns(program);
    std::vector<bpf_insn> changed(begin, begin + bpf_program__insn_cnt(program));
    int function = 0;
    for (bpf_insn &instruction : changed) {
        if (instruction.code != (BPF_JMP | BPF_CALL) || instruction.src_reg != 0 ||
            instruction.imm != RSSLAG_RDONLY_CAST)
            continue;
        if (function == 0) function = find("bpf_rdonly_cast", BTF_KIND_FUNC);
        if (function < 0) return function;
        instruction.src_reg = BPF_PSEUDO_KFUNC_CALL;
        instruction.imm = function;
    }
    return function == 0 ? 0 : bpf_program__set_insns(program, changed.data(), changed.size());
}

/// Sets the type as late as this: libbpf loads the kernel's BTF for an object that has a program of
/// BPF_PROG_TYPE_TRACING when the object's load starts.
int prepare(bpf_program *program, bpf_prog_load_opts *options, long index) {
    const Target &target = kTargets[static_cast<std::size_t>(index)];
    const int id =
        find(target.prefix + std::string(bpf_program__section_name(program) + strlen(target.section)), target.kind);
    if (id < 0) return id;
    options->attach_btf_id = static_cast<unsigned>(id);
    if (const int err = name_functions(program); err != 0) return err;
    return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
}

/// For a section without a handler, which needs memory, libbpf searches as usual.
void register_handlers() {
    for (std::size_t i = 0; i < kTargets.size(); ++i) {
        LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = static_cast<long>(i), .prog_prepare_load_fn = prepare);
        const Target &target = kTargets[i];
        libbpf_register_prog_handler(target.section, BPF_PROG_TYPE_RAW_TRACEPOINT, target.attach, &options);
    }
}

}  // namespace

void find_ids_in(const std::shared_ptr<const KernelTypes> &kernel) {
    if (!kernel || kernel_types()) return;
    kernel_types() = kernel;
    register_handlers();
}

bpf_link *attach(const bpf_program *program) {
    return bpf_program__type(program) == BPF_PROG_TYPE_TRACING ? bpf_program__attach_trace(program)
                                                               : bpf_program__attach(program);
}

}  // namespace rsslag::probe
