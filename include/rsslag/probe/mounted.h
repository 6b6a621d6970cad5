// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <array>

#include "rsslag/core/result.h"
#include "rsslag/core/scheme.h"
#include "rsslag/probe/traits.h"

namespace rsslag::probe {

/// The files that pin_files() makes. docs/man/rsslag-mount.1 has what is in them.
inline constexpr std::array<const char *, 3> kMountedFiles{"rss", "self", "rss.prom"};

/// Who may read the files.
struct Readers {
    mode_t mode = 0444;
    gid_t group = 0;
};

/// Pins kMountedFiles into the bpffs whose root `directory` is; it may be mounted nowhere yet. Its mode will be 0755.
/// They outlive this process, and hold their programs until they are unlinked and the last reader has closed. Needs
/// CAP_BPF and CAP_PERFMON. Kind::Unsupported where this kernel lacks what they need, Kind::Denied where it refuses.
core::Status pin_files(const KernelTraits &traits, const core::Machine &machine, int directory, const Readers &readers);

}  // namespace rsslag::probe
