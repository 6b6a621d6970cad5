// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "flush_chain.h"
#include "rsslag/core/update_amounts.h"

namespace rsslag::core {
namespace {

/// A counter of an mm.
struct Counter {
    FlushChain chain;
    bool counted = false;  ///< the chain knows the count to begin with
    bool listed = false;   ///< among those that wait
    std::uint64_t told_ns = 0;
};

class FlushAmounts final : public UpdateAmounts {
  public:
    void born(std::uint64_t mm) override {
        for (Counter &counter : mms_[mm]) {
            counter.chain.reset(0);
            counter.counted = true;
        }
    }

    void read(std::uint64_t mm, const CounterReading &reading, std::uint64_t begin_ns) override {
        Mm &known = mms_[mm];
        for (const Member member : kAllMembers) {
            Counter &counter = known[static_cast<std::size_t>(member)];
            if (counter.counted || counter.told_ns >= begin_ns) continue;
            counter.chain.reset(reading.last.flushed[member].n);
            counter.counted = true;
        }
    }

    std::optional<std::uint64_t> apply(std::uint64_t mm, const rsslag_update &update, const Applied &applied,
                                       std::vector<Settled> &out) override {
        Counter &counter = mms_[mm][update.member % kMembers];
        counter.told_ns = update.t_ns;
        if (!std::exchange(counter.counted, true)) {  // the count as it is now is one to begin with
            counter.chain.reset(update.count);
            return std::nullopt;
        }
        const std::uint64_t ticket = ++tickets_;
        counter.chain.push(update, applied.reason == FlushReason::Direct, links_, ticket);
        if (counter.chain.waiting() && !std::exchange(counter.listed, true)) waiting_.push_back(&counter);
        tell(out);
        return ticket;
    }

    void apply(std::uint64_t /*mm*/, const rsslag_sum & /*sum*/, std::vector<Settled> & /*out*/) override {}

    void advance(std::uint64_t t_ns, std::vector<Settled> &out) override {
        std::erase_if(waiting_, [&](Counter *counter) {
            counter->chain.advance(t_ns, links_);
            counter->listed = counter->chain.waiting();
            return !counter->listed;
        });
        tell(out);
    }

    void drop(std::uint64_t mm, std::vector<Settled> &out) override {
        const auto found = mms_.find(mm);
        if (found == mms_.end()) return;
        for (Counter &counter : found->second) {
            counter.chain.finish(links_);
            if (counter.listed) std::erase(waiting_, &counter);
        }
        tell(out);
        mms_.erase(found);
    }

    /// What is there was told before the loss.
    void forget(std::vector<Settled> &out) override {
        for (Counter *const counter : waiting_)
            counter->chain.finish(links_);
        waiting_.clear();
        tell(out);
        mms_.clear();
    }

    bool open() const override { return !waiting_.empty(); }

  private:
    using Mm = std::array<Counter, kMembers>;

    void tell(std::vector<Settled> &out) {
        for (const FlushChain::Link &link : links_)
            out.push_back({link.ticket, Pages{link.pages}, reason_of(link.update, link.flush)});
        links_.clear();
    }

    std::unordered_map<std::uint64_t, Mm> mms_;
    std::vector<Counter *> waiting_;  ///< in mms_, whose elements stay where they are
    std::uint64_t tickets_ = 0;
    std::vector<FlushChain::Link> links_;
};

}  // namespace

std::unique_ptr<UpdateAmounts> flush_amounts() {
    return std::make_unique<FlushAmounts>();
}

}  // namespace rsslag::core
