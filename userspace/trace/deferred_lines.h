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

/// Lines of what happened, in order: one whose amount is still open waits for it, and those after it wait with it.
class DeferredLines {
  public:
    using Line = std::variant<core::EventLine, core::TaskLine>;
    using Use = std::function<void(const Line &)>;

    explicit DeferredLines(Use use) : use_(std::move(use)) {}

    void add(Line line);
    void settled(const core::SettledUpdate &amount);
    /// Nothing more will be told: what is open stays so.
    void finish();

  private:
    struct Waiting {
        Line line;
        std::uint64_t ticket = 0;  ///< 0: it waits for nothing itself
    };
    void release();

    Use use_;
    std::deque<Waiting> waiting_;
    std::unordered_map<std::uint64_t, Waiting *> by_ticket_;  ///< of those in waiting_
};

}  // namespace rsslag::trace
