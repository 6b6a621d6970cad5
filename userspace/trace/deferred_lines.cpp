// SPDX-License-Identifier: BSD-2-Clause
#include "deferred_lines.h"

#include <utility>

namespace rsslag::trace {

void DeferredLines::add(Line line) {
    const auto *const event = std::get_if<core::EventLine>(&line);
    const std::uint64_t ticket = event == nullptr ? 0 : event->applied.ticket;
    if (ticket == 0 && waiting_.empty()) return use_(line);
    Waiting &waiting = waiting_.emplace_back(Waiting{std::move(line), ticket});
    if (ticket != 0) by_ticket_[ticket] = &waiting;
}

void DeferredLines::settled(const core::SettledUpdate &amount) {
    const auto found = by_ticket_.find(amount.ticket);
    if (found == by_ticket_.end()) return;
    Waiting &waiting = *found->second;
    core::Applied &applied = std::get<core::EventLine>(waiting.line).applied;
    applied.pages = amount.pages;
    applied.reason = amount.reason;
    waiting.ticket = 0;
    by_ticket_.erase(found);
    release();
}

void DeferredLines::release() {
    while (!waiting_.empty() && waiting_.front().ticket == 0) {
        use_(waiting_.front().line);
        waiting_.pop_front();
    }
}

void DeferredLines::finish() {
    for (Waiting &waiting : waiting_)
        waiting.ticket = 0;
    by_ticket_.clear();
    release();
}

}  // namespace rsslag::trace
