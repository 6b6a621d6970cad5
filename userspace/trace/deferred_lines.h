// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <variant>

#include "rsslag/core/ledger.h"
#include "rsslag/core/tick.h"

namespace rsslag::trace {

/// Lines of records, in order. A line waits until its amount is settled, and all later lines wait for it.
class DeferredLines {
  public:
    using Line = std::variant<core::EventLine, core::TaskLine>;
    using Use = std::function<void(const Line &)>;

    explicit DeferredLines(Use use) : use_(std::move(use)) {}

    void add(Line line);
    void settled(const core::SettledUpdate &amount);
    /// To be called when no further amount will be settled. Emits all lines, open ones without an amount.
    void finish();

  private:
    struct Waiting {
        Line line;
        std::uint64_t ticket = 0;  ///< 0: its own amount is settled
    };
    void release();

    Use use_;
    std::deque<Waiting> waiting_;
    std::unordered_map<std::uint64_t, Waiting *> by_ticket_;  ///< entries of waiting_ with a ticket
};

}  // namespace rsslag::trace
