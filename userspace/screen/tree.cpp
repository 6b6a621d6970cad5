// SPDX-License-Identifier: BSD-2-Clause
#include "tree.h"

#include <unordered_map>
#include <utility>

namespace rsslag::screen {
namespace {

class Tree {
  public:
    Tree(const std::vector<TreeNode> &nodes, bool utf8) : utf8_(utf8), children_(nodes.size()), seen_(nodes.size()) {
        std::unordered_map<int, std::size_t> at;
        for (std::size_t i = 0; i < nodes.size(); ++i)
            at.emplace(nodes[i].id, i);
        std::vector<std::size_t> roots;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const auto parent = at.find(nodes[i].parent);
            if (parent == at.end() || parent->second == i) {
                roots.push_back(i);
            } else {
                children_[parent->second].push_back(i);
            }
        }
        for (const std::size_t root : roots)
            place(root);
        // A recording may contain a cycle: then none of its processes is below a root.
        for (std::size_t i = 0; i < nodes.size(); ++i)
            place(i);
    }

    std::vector<TreeRow> take() { return std::move(placed_); }

  private:
    struct Next {
        std::size_t node = 0;
        std::string branch;  ///< of this node
        std::string below;   ///< the start of the branch of each child
    };

    void place(std::size_t root) {
        constexpr std::size_t kLongest = 64;  // bytes; deeper levels are not indented further
        std::vector<Next> stack{{root, "", ""}};
        while (!stack.empty()) {
            const Next next = std::move(stack.back());
            stack.pop_back();
            if (seen_[next.node]) continue;
            seen_[next.node] = true;
            placed_.push_back({next.node, next.branch});
            const auto &children = children_[next.node];
            for (std::size_t i = children.size(); i-- > 0;) {  // the first child is on top of the stack
                const bool last = i + 1 == children.size();
                const bool deep = next.below.size() > kLongest;
                const std::string corner = utf8_ ? (last ? "\u2514 " : "\u251C ") : (last ? "` " : "|-");
                const std::string line = last ? "  " : utf8_ ? "\u2502 " : "| ";
                stack.push_back({children[i], next.below + (deep ? "" : corner), next.below + (deep ? "" : line)});
            }
        }
    }

    bool utf8_;
    std::vector<std::vector<std::size_t>> children_;
    std::vector<bool> seen_;
    std::vector<TreeRow> placed_;
};

}  // namespace

std::vector<TreeRow> tree_of(const std::vector<TreeNode> &nodes, bool utf8) {
    return Tree(nodes, utf8).take();
}

}  // namespace rsslag::screen
