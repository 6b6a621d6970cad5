// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace rsslag::probe {

class KernelTypes;

/// A hook that the tracer can use, and whether this user can attach a program to it.
struct HookState {
    std::string name;  ///< "tp_btf/rss_stat"
    bool usable = false;
    std::string reason;  ///< why it is not usable; else empty
};

/// Loads, attaches and detaches an empty program for each hook, one hook at a time. Empty if libbpf cannot open the
/// object. `kernel`: as for find_ids_in().
std::vector<HookState> try_hooks(const std::shared_ptr<const KernelTypes> &kernel);

}  // namespace rsslag::probe
