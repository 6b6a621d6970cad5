// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <utility>

#include "core/ledger.h"

namespace rsslag::analysis {

/// Items in order. An update waits until its amount is settled, and all later items wait for it.
template <class Item>
class SettledQueue {
  public:
    using Use = std::function<void(Item &)>;

    explicit SettledQueue(Use use) : use_(std::move(use)) {}

    bool empty() const { return waiting_.empty(); }
    std::size_t size() const { return waiting_.size(); }
    /// `ticket`: Applied::ticket of an update; 0: its amount is settled, or it is no update.
    void add(Item item, std::uint64_t ticket) {
        if (ticket == 0 && empty()) return use_(item);
        Waiting &waiting = waiting_.emplace_back(Waiting{std::move(item), ticket});
        if (ticket != 0) by_ticket_[ticket] = &waiting;
    }
    /// Calls `set` with the update that has this amount, if it is here.
    template <class Set>
    void settle(const core::SettledUpdate &amount, Set set) {
        const auto found = by_ticket_.extract(amount.ticket);
        if (found.empty()) return;
        set(found.mapped()->item);
        found.mapped()->ticket = 0;
        while (!empty() && waiting_.front().ticket == 0)
            use_first();
    }
    /// To be called when no further amount will be settled. Uses all items, open ones without an amount.
    void finish() {
        by_ticket_.clear();
        while (!empty())
            use_first();
    }

  private:
    struct Waiting {
        Item item;
        std::uint64_t ticket = 0;  ///< 0: its own amount is settled
    };
    void use_first() {
        use_(waiting_.front().item);
        waiting_.pop_front();
    }

    Use use_;
    std::deque<Waiting> waiting_;
    std::unordered_map<std::uint64_t, Waiting *> by_ticket_;  ///< entries of waiting_ with a ticket
};

}  // namespace rsslag::analysis
