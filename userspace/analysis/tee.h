// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <utility>

#include "analysis/observer.h"

namespace rsslag::analysis {

/// Passes a trace on to two observers. Each gets what it needs, first `first`.
class Tee : public TraceObserver {
  public:
    Tee(TraceObserver &first, TraceObserver &second) : first_(first), second_(second) {}

    bool needs_records() const override { return first_.needs_records() || second_.needs_records(); }
    bool needs_updates() const override {
        const auto needs = [](const TraceObserver &each) { return each.needs_records() && each.needs_updates(); };
        return needs(first_) || needs(second_);
    }
    void on_update(const core::EventLine &line) override {
        each([&](TraceObserver &to) {
            if (to.needs_updates()) to.on_update(line);
        });
    }
    void on_applied(const rsslag_update &update, const core::Applied &applied) override {
        each([&](TraceObserver &to) { to.on_applied(update, applied); });
    }
    void on_settled(std::span<const core::SettledUpdate> amounts) override {
        each([&](TraceObserver &to) { to.on_settled(amounts); });
    }
    void on_adopted(const core::GroupView &group) override {
        each([&](TraceObserver &to) { to.on_adopted(group); });
    }
    void on_task(const core::TaskLine &line) override {
        each([&](TraceObserver &to) { to.on_task(line); });
    }
    void on_renumbered(const core::Renumbered &thread) override {
        each([&](TraceObserver &to) { to.on_renumbered(thread); });
    }
    void on_fault(const rsslag_fault &fault, const core::Members &came,
                  const std::optional<core::Held> &held) override {
        each([&](TraceObserver &to) { to.on_fault(fault, came, held); });
    }
    void on_sum(const rsslag_sum &sum, const std::optional<core::Held> &held) override {
        each([&](TraceObserver &to) { to.on_sum(sum, held); });
    }
    void on_reading(const core::RawReading &reading) override {
        each([&](TraceObserver &to) { to.on_reading(reading); });
    }
    void on_mapping(const core::MappingChange &change) override {
        each([&](TraceObserver &to) { to.on_mapping(change); });
    }
    void on_listing(const core::MappingListing &listing) override {
        each([&](TraceObserver &to) { to.on_listing(listing); });
    }
    void on_samples(const event::Samples &samples) override {
        each([&](TraceObserver &to) { to.on_samples(samples); });
    }
    void on_stacks(const event::Stacks &stacks) override {
        each([&](TraceObserver &to) { to.on_stacks(stacks); });
    }
    void on_absent_pages(const event::AbsentPages &absent) override {
        each([&](TraceObserver &to) { to.on_absent_pages(absent); });
    }
    void on_loss(std::uint64_t t_ns, const core::Losses &losses) override {
        each([&](TraceObserver &to) { to.on_loss(t_ns, losses); });
    }
    void on_tick(core::Tick tick) override {
        first_.on_tick(tick);
        second_.on_tick(std::move(tick));
    }

  private:
    template <class Call>
    void each(const Call &call) {
        if (first_.needs_records()) call(first_);
        if (second_.needs_records()) call(second_);
    }

    TraceObserver &first_, &second_;
};

}  // namespace rsslag::analysis
