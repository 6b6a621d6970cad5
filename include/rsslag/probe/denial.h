// SPDX-License-Identifier: BSD-2-Clause
// Why the kernel refuses BPF to this user, and what would change that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/result.h"

namespace rsslag::probe {

/// What this process may do, as far as the tracer needs it.
struct Privileges {
    bool cap_bpf = false;  ///< effective
    bool cap_perfmon = false;
    bool cap_sys_ptrace = false;
    bool cap_sys_admin = false;  ///< stands for CAP_BPF and CAP_PERFMON
    bool cap_sys_resource = false;
    bool in_user_namespace = false;              ///< not the initial one: capabilities held there do not count for BPF
    bool few_descriptors = false;                ///< fewer may be opened than loading takes
    int seccomp_mode = 0;                        ///< "Seccomp:" of /proc/self/status: 0 none, 2 filter
    std::optional<std::uint64_t> memlock_bytes;  ///< RLIMIT_MEMLOCK, nullopt is unlimited
    bool memlock_counts_bpf = false;  ///< up to 5.10; from 5.11 the memory cgroup does (bpf_map_kmalloc_node)
    std::string lockdown;  ///< the active mode of /sys/kernel/security/lockdown, empty where it cannot be read

    bool may_bpf() const { return cap_sys_admin || (cap_bpf && cap_perfmon); }
    /// The capabilities that BPF lacks: {"CAP_BPF", "CAP_PERFMON"}.
    std::vector<std::string> missing() const;
};

Privileges own_privileges();

/// Whether a kernel of this uname -r counts what BPF takes as locked memory: up to 5.10.
bool counts_bpf_as_locked(const std::string &release);

/// The command that gives `binary` what it needs, and to whom: chgrp, chmod, setcap.
std::string setcap_remedy(const std::string &binary);

/// What a refusal (positive errno) of a BPF call means for someone with these privileges. Pure.
core::Error explain_denial(int err, const Privileges &privileges, const std::string &binary);

/// libbpf has loaded the programs but could not map their variables: it leaves a null pointer where its own look at
/// whether this kernel can do so (FEAT_ARRAY_MMAP) was refused.
core::Error variables_out_of_reach();

/// Path of the running program, as /proc/self/exe tells it.
std::string own_binary();

}  // namespace rsslag::probe
