// SPDX-License-Identifier: BSD-2-Clause
// What this kernel is like, told by its BTF and never by its version: vendors backport.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "rsslag/core/result.h"
#include "rsslag/core/scheme.h"

struct btf;

namespace rsslag::probe {

/// A layout of mm_struct.rss_stat that rsslag does not know; it says what was found and is never guessed at.
struct UnknownLayout {
    std::string found;
};

/// Why nothing can be read there.
core::Error unsupported(const UnknownLayout &layout);

struct KernelTraits {
    std::variant<core::Scheme, UnknownLayout> scheme;
    std::string evidence;        ///< what made it so, for people: "mm_struct.rss_stat is percpu_counter[4] …"
    bool task_iterator = false;  ///< struct bpf_iter__task: SEC("iter/task"), 5.8+
    bool task_iterator_by_group = false;  ///< bpf_iter_link_info.task: the kernel itself filters by tgid, 6.1+
    bool loops = false;                   ///< the helpers bpf_loop (5.17+) and bpf_map_lookup_percpu_elem (5.19+)
    std::optional<int>
        rss_stat_arguments;        ///< of tp_btf/rss_stat: 3 up to 6.1, 2 from 6.2; nullopt: no such tracepoint
    bool page_fault_user = false;  ///< exceptions:page_fault_user
    bool page_fault_kernel = false;
    bool cpuhp_exit = false;  ///< cpuhp:cpuhp_exit with its four arguments: tells of CPUs that go offline
    /// A function that fentry/fexit could attach to, and that is told of registers (5.9+).
    bool handle_mm_fault = false;
    unsigned refcount_type = 0;           ///< the kernel's id of struct refcount_struct; 0: it has none
    unsigned registers_type = 0;          ///< likewise of struct pt_regs
    unsigned task_type = 0;               ///< likewise of struct task_struct
    unsigned task_iterator_function = 0;  ///< likewise of what iterators over tasks are attached to
    std::shared_ptr<const btf> types;     ///< what all this was found in, of the running kernel; else null
};

/// Pure: reads nothing but `btf`.
KernelTraits traits_of(const btf &btf);

/// Those of the running kernel, from /sys/kernel/btf/vmlinux. Without BTF: Kind::Unsupported.
core::Result<KernelTraits> running_kernel_traits();

}  // namespace rsslag::probe
