// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rsslag/core/scheme.h"

namespace rsslag::host {

/// The running system. this_host() leaves machine.scheme unset: the caller takes it from the kernel's BTF.
struct Host {
    core::Machine machine;
    std::string kernel;  ///< uname -r
    std::string arch;    ///< uname -m
};

Host this_host();

/// core::Machine::anon_orders, from a directory like /sys/kernel/mm/transparent_hugepage: bit N is set if anonymous
/// memory may come in folios of order N. Only bit 0 if the directory does not exist.
std::uint32_t folio_orders(const std::string &directory, std::int64_t page_bytes);

/// CPUs that are online now.
int cpus_online();

/// Highest number in a kernel CPU list plus one: "0-3,8" → 9; 0 if malformed. Pure.
int cpus_in_list(std::string_view list);

}  // namespace rsslag::host
