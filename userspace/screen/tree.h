// SPDX-License-Identifier: BSD-2-Clause
// Rows of processes as a tree.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rsslag::screen {

struct TreeNode {
    int id = 0, parent = 0;
};

struct TreeRow {
    std::size_t node = 0;  ///< index
    std::string branch;    ///< the lines before the name; empty at a root
};

/// Each node directly below its parent; siblings stay in their order. A node whose parent is not among them is a root.
std::vector<TreeRow> tree_of(const std::vector<TreeNode> &nodes, bool utf8);

}  // namespace rsslag::screen
