// SPDX-License-Identifier: BSD-2-Clause
#include "probe/hooks.h"

#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "hooks.skel.h"
#include "kernel_ids.h"

namespace rsslag::probe {
namespace {

struct HooksDeleter {
    void operator()(rsslag_hooks *skeleton) const { rsslag_hooks__destroy(skeleton); }
};
using Skeleton = std::unique_ptr<rsslag_hooks, HooksDeleter>;

std::vector<std::string> section_names(const rsslag_hooks &skeleton) {
    std::vector<std::string> names;
    bpf_program *program = nullptr;
    bpf_object__for_each_program(program, skeleton.obj) {
        names.emplace_back(bpf_program__section_name(program));
    }
    return names;
}

/// Why the hook of this section cannot be used; empty: it can.
std::string try_hook(const std::string &section) {
    const Skeleton skeleton(rsslag_hooks__open());
    if (!skeleton) return std::strerror(errno);
    bpf_program *matching = nullptr;
    bpf_program *program = nullptr;
    bpf_object__for_each_program(program, skeleton->obj) {
        const bool requested = section == bpf_program__section_name(program);
        bpf_program__set_autoload(program, requested);
        if (requested) matching = program;
    }
    const int loaded = rsslag_hooks__load(skeleton.get());
    // ESRCH, without a system call, if the BTF has no such tracepoint or function.
    if (loaded == -ESRCH) return "this kernel does not have it";
    if (loaded != 0) return std::string("cannot load: ") + std::strerror(-loaded);
    bpf_link *const link = attach(matching);
    if (link == nullptr) return std::string("cannot attach: ") + std::strerror(errno);
    bpf_link__destroy(link);
    return "";
}

}  // namespace

std::vector<HookState> try_hooks(const std::shared_ptr<const KernelTypes> &kernel) {
    find_ids_in(kernel);
    const Skeleton skeleton(rsslag_hooks__open());
    std::vector<HookState> states;
    if (!skeleton) return states;
    for (const std::string &section : section_names(*skeleton)) {
        const std::string reason = try_hook(section);
        states.push_back({section, reason.empty(), reason});
    }
    return states;
}

}  // namespace rsslag::probe
