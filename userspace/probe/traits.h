// SPDX-License-Identifier: BSD-2-Clause
// Features of the running kernel, from its BTF and never from its version, since vendors backport features.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "core/result.h"
#include "core/scheme.h"

namespace rsslag::probe {

class KernelTypes;

/// A layout of mm_struct.rss_stat that this version does not support. Nothing is read from such a kernel's counters.
struct UnknownLayout {
    std::string found;  ///< "mm_struct.rss_stat is …"
};

/// The Kind::Unsupported error for such a kernel.
core::Error unsupported(const UnknownLayout &layout);

struct KernelTraits {
    std::variant<core::Scheme, UnknownLayout> scheme;
    std::string evidence;  ///< the types that determine the scheme: "mm_struct.rss_stat is percpu_counter[4], …"
    bool task_iterator = false;           ///< struct bpf_iter__task: SEC("iter/task"), 5.8+
    bool task_iterator_by_group = false;  ///< bpf_iter_link_info.task: the kernel filters by tgid, 6.1+
    bool loops = false;                   ///< the helpers bpf_loop (5.17+) and bpf_map_lookup_percpu_elem (5.19+)
    bool task_registers = false;          ///< the helper bpf_task_pt_regs, 5.15+
    bool map_allocator = false;           ///< bpf_mem_alloc_init(): elements of maps are allocated in any context, 6.1+
    std::optional<int>
        rss_stat_arguments;        ///< number of arguments of tp_btf/rss_stat: 3 up to 6.1, 2 from 6.2; nullopt: none
    bool page_fault_user = false;  ///< exceptions:page_fault_user
    bool page_fault_kernel = false;
    bool cpuhp_exit = false;  ///< cpuhp:cpuhp_exit with four arguments: fires when a CPU goes offline
    /// handle_mm_fault() with four arguments, the last of which is the registers (5.9+): for fexit.
    bool handle_mm_fault = false;
    bool compat_calls = false;    ///< x86: the kernel has system calls for 32-bit programs (CONFIG_IA32_EMULATION)
    unsigned refcount_type = 0;   ///< BTF id of struct refcount_struct in the kernel; 0: there is none
    unsigned registers_type = 0;  ///< BTF id of struct pt_regs; 0: there is none
    unsigned task_type = 0;       ///< BTF id of struct task_struct; 0: there is none
    std::shared_ptr<const KernelTypes> types;  ///< of the running kernel; null if the traits are of another BTF
};

/// The traits of the kernel that has these types; `types` of the result stays null. Pure.
KernelTraits traits_of(const KernelTypes &types);

/// The traits of the running kernel, from /sys/kernel/btf/vmlinux. Kind::Unsupported without BTF, Kind::Denied if the
/// file cannot be opened.
core::Result<KernelTraits> running_kernel_traits();

}  // namespace rsslag::probe
