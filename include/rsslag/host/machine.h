// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rsslag/core/scheme.h"

namespace rsslag::host {

/// What the running system says of itself; the scheme is filled in by whoever asked the kernel's BTF.
struct Host {
    core::Machine machine;
    std::string kernel;  ///< uname -r
    std::string arch;    ///< uname -m
};

Host this_host();

/// What anonymous memory may come in, as this directory says: core::Machine::anon_orders. Only bit 0 where there is
/// none.
std::uint32_t folio_orders(const std::string &directory, std::int64_t page_bytes);

/// Now.
int cpus_online();

/// Highest number in a kernel CPU list plus one: "0-3,8" → 9; 0 where it is no such list. Pure.
int cpus_in_list(std::string_view list);

}  // namespace rsslag::host
