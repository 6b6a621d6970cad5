// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace rsslag::probe {

/// One hook that the tracer can use, and whether this kernel lets this user attach to it.
struct HookState {
    std::string name;  ///< "tp_btf/rss_stat"
    bool usable = false;
    std::string reason;  ///< why not; empty where usable
};

/// Loads and attaches an empty program on each hook, by itself, and takes it off again.
std::vector<HookState> try_hooks();

}  // namespace rsslag::probe
