// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/scheme.h"

namespace rsslag::system {

/// The running system. this_host() does not set machine.scheme, which the caller must read from the kernel's BTF.
struct Host {
    core::Machine machine;
    std::string kernel;  ///< uname -r
    std::string arch;    ///< uname -m
};

Host this_host();

/// core::Machine::anon_orders, from a directory like /sys/kernel/mm/transparent_hugepage. Bit N is set if the kernel
/// may allocate folios of order N for anonymous memory. Only bit 0 is set if the directory does not exist.
std::uint32_t folio_orders(const std::string &directory, std::int64_t page_bytes);

/// The line in /proc/sys/kernel/random/NAME; empty if it cannot be read.
std::string kernel_uuid(const std::string &name);

/// The number of CPUs that are online now.
int cpus_online();

/// The highest number in a kernel CPU list plus one: "0-3,8" → 9; 0 if the list is malformed. Pure.
int cpus_in_list(std::string_view list);

}  // namespace rsslag::system
