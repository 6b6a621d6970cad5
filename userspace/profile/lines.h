// SPDX-License-Identifier: BSD-2-Clause
// The rows of tables of a profile. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace rsslag::profile {

/// One row of a table or of a tree.
struct Line {
    std::string name;         ///< raw bytes
    Flow all;                 ///< of the stacks that contain it
    Flow self;                ///< of those whose innermost frame it is
    std::size_t threads = 0;  ///< whose stacks contain it
    int depth = 0;            ///< in a tree: the number of its callers
};

enum class By : std::uint8_t { Function, File, Module, Thread, Reason, Kernel };

/// Of "function", "file", "module", "thread", "reason" or "kernel".
By by_of(std::string_view what);

/// One line for each function, source file, module, thread, reason or function of the kernel, the largest first. Code
/// whose source file is not known counts for its module in File.
std::vector<Line> lines(const Profile &profile, By by, const Of &of = {});

/// The tree of calls: each function below its caller, of several the largest first. A stack that is not whole begins
/// with its StackEnd in parentheses.
std::vector<Line> tree(const Profile &profile, const Of &of = {});

}  // namespace rsslag::profile
