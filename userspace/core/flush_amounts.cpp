// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/core/flush_amounts.h"

#include <array>
#include <unordered_map>
#include <utility>

#include "flush_chain.h"

namespace rsslag::core {
namespace {

/// A counter of an mm.
struct Counter {
    FlushChain chain;
    bool counted = false;  ///< the chain knows the count to begin with
    std::uint64_t told_ns = 0;
};

using Mm = std::array<Counter, kMembers>;

}  // namespace

struct FlushAmounts::State {
    std::unordered_map<std::uint64_t, Mm> mms;
    std::uint64_t tickets = 0;
    std::size_t open = 0;
    std::vector<FlushChain::Link> links;

    void tell(std::vector<Settled> &out) {
        for (const FlushChain::Link &link : links) {
            out.push_back({link.ticket, Pages{link.pages}, reason_of(link.update, link.flush)});
            --open;
        }
        links.clear();
    }
};

FlushAmounts::FlushAmounts() : state_(std::make_unique<State>()) {}
FlushAmounts::~FlushAmounts() = default;

void FlushAmounts::born(std::uint64_t mm) {
    for (Counter &counter : state_->mms[mm]) {
        counter.chain.reset(0);
        counter.counted = true;
    }
}

void FlushAmounts::read(std::uint64_t mm, const CounterReading &reading, std::uint64_t begin_ns) {
    Mm &known = state_->mms[mm];
    for (const Member member : kAllMembers) {
        Counter &counter = known[static_cast<std::size_t>(member)];
        if (counter.counted || counter.told_ns >= begin_ns) continue;
        counter.chain.reset(reading.last.flushed[member].n);
        counter.counted = true;
    }
}

std::optional<std::uint64_t> FlushAmounts::apply(std::uint64_t mm, const rsslag_update &update, const Applied &applied,
                                                 std::vector<Settled> &out) {
    Counter &counter = state_->mms[mm][update.member % kMembers];
    counter.told_ns = update.t_ns;
    if (!std::exchange(counter.counted, true)) {  // the count as it is now is one to begin with
        counter.chain.reset(update.count);
        return std::nullopt;
    }
    const std::uint64_t ticket = ++state_->tickets;
    ++state_->open;
    counter.chain.push(update, applied.reason == FlushReason::Direct, state_->links, ticket);
    state_->tell(out);
    return ticket;
}

void FlushAmounts::apply(std::uint64_t /*mm*/, const rsslag_sum & /*sum*/, std::vector<Settled> & /*out*/) {}

void FlushAmounts::advance(std::uint64_t t_ns, std::vector<Settled> &out) {
    for (auto &[number, mm] : state_->mms) {
        for (Counter &counter : mm)
            if (counter.chain.waiting()) counter.chain.advance(t_ns, state_->links);
    }
    state_->tell(out);
}

void FlushAmounts::drop(std::uint64_t mm, std::vector<Settled> &out) {
    const auto found = state_->mms.find(mm);
    if (found == state_->mms.end()) return;
    for (Counter &counter : found->second)
        counter.chain.finish(state_->links);
    state_->tell(out);
    state_->mms.erase(found);
}

/// What is there was told before the loss.
void FlushAmounts::forget(std::vector<Settled> &out) {
    for (auto &[number, mm] : state_->mms) {
        for (Counter &counter : mm)
            counter.chain.finish(state_->links);
    }
    state_->tell(out);
    state_->mms.clear();
}

bool FlushAmounts::open() const {
    return state_->open != 0;
}

}  // namespace rsslag::core
