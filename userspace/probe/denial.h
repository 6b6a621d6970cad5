// SPDX-License-Identifier: BSD-2-Clause
// Explains why the kernel refuses BPF programs of this user, and names the remedy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace rsslag::probe {

/// The privileges and limits of this process that matter to the tracer.
struct Privileges {
    bool cap_bpf = false;  ///< effective
    bool cap_perfmon = false;
    bool cap_sys_ptrace = false;
    bool cap_sys_admin = false;  ///< includes CAP_BPF and CAP_PERFMON
    bool cap_sys_resource = false;
    bool in_user_namespace = false;              ///< not the initial one, so its capabilities do not allow BPF
    bool few_descriptors = false;                ///< RLIMIT_NOFILE leaves fewer descriptors than loading needs
    int seccomp_mode = 0;                        ///< "Seccomp:" of /proc/self/status: 0 none, 2 filter
    std::optional<std::uint64_t> memlock_bytes;  ///< RLIMIT_MEMLOCK; nullopt: unlimited
    bool memlock_counts_bpf = false;  ///< BPF memory counts as locked: up to 5.10. Later kernels charge it to the
                                      ///< memory cgroup (bpf_map_kmalloc_node)
    std::string lockdown;             ///< active mode of /sys/kernel/security/lockdown; empty: cannot be read

    bool may_bpf() const { return cap_sys_admin || (cap_bpf && cap_perfmon); }
    /// Names of the missing capabilities, at most {"CAP_BPF", "CAP_PERFMON"}.
    std::vector<std::string> missing() const;
};

Privileges own_privileges();

/// Whether the kernel with this `uname -r` counts BPF memory as locked memory: true up to 5.10.
bool counts_bpf_as_locked(const std::string &release);

/// A remedy: the commands (chgrp, chmod, setcap) that give `binary` its capabilities and a group the right to run it.
std::string setcap_remedy(const std::string &binary);

/// Explains why a BPF call failed with the positive errno `err` in a process with these privileges. Kind::Denied if
/// other privileges or limits would help, else Kind::Unsupported. Pure.
core::Error explain_denial(int err, const Privileges &privileges, const std::string &binary);

/// The Kind::Unsupported error for programs that libbpf has loaded without mapping their variables. libbpf leaves the
/// skeleton's pointer null if the kernel refused its feature probe FEAT_ARRAY_MMAP.
core::Error variables_not_mapped();

/// Path of the running program: the target of /proc/self/exe, or "rsslag" if that cannot be read.
std::string own_binary();

}  // namespace rsslag::probe
