// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <array>

#include "core/result.h"
#include "core/scheme.h"
#include "probe/traits.h"

namespace rsslag::probe {

/// The files that pin_files() creates. docs/man/rsslag-mount.1 describes their contents.
inline constexpr std::array<const char *, 3> kMountedFiles{"rss", "self", "rss.prom"};

/// Kind::Unsupported if the kernel lacks features that the files need; it lists them. Pure.
core::Status can_pin_files(const KernelTraits &traits);

/// Mode and group of the files; their owner is root.
struct Readers {
    mode_t mode = 0444;
    gid_t group = 0;
};

/// Pins kMountedFiles in the bpffs with the root `directory`, which need not be mounted yet, and sets the root's mode
/// to 0755. The files outlive this process: their programs stay loaded until the files are unlinked and the last reader
/// has closed. Needs CAP_BPF and CAP_PERFMON. Kind::Unsupported: the kernel lacks a feature; Kind::Denied: it refuses
/// this user; Kind::Io: a file cannot be pinned or its mode set.
core::Status pin_files(const KernelTraits &traits, const core::Machine &machine, int directory, const Readers &readers);

}  // namespace rsslag::probe
