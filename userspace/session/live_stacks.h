// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "analysis/row_maker.h"
#include "exporters/sink.h"
#include "profile/collector.h"

namespace rsslag::session {

/// The part of LiveStacks that takes rows.
class ProfileSink : public exporters::Sink {
  protected:
    explicit ProfileSink(std::uint32_t period) : period_(period) { restart(); }
    /// An empty profile, which changed() returns.
    void restart();
    std::size_t size() const { return collector_.size(); }
    /// The profile; null: it has not changed since the last call.
    std::shared_ptr<profile::Profile> changed();

  private:
    core::Status begin(const exporters::Facts & /*facts*/) override { return core::success(); }
    core::Status row(const exporters::Row &row) override;
    core::Status end(const exporters::Ending & /*ending*/) override { return core::success(); }
    void samples(const core::event::Samples &samples) override;
    void stacks(const core::event::Stacks &stacks) override;
    void absent_pages(const core::event::AbsentPages &absent) override;

    std::uint32_t period_;
    profile::Collector collector_;
    bool changed_ = false;
};

/// Observes a trace with samples of stacks and makes a profile of them for the screen. Its memory has a limit: beyond
/// it, the profile starts again.
class LiveStacks : private ProfileSink, public analysis::RowMaker {
  public:
    /// `period`: pages to a sample. `most`: limit of Collector::size().
    explicit LiveStacks(std::uint32_t period, std::size_t most = std::size_t{1} << 18)
        : ProfileSink(period), RowMaker(static_cast<exporters::Sink &>(*this)), most_(most) {}

    /// `start_ns`: CLOCK_MONOTONIC at the attach. `from_ns`: since the attach, if the first events are from later.
    void begin(std::uint64_t start_ns, std::uint64_t from_ns = 0);
    void on_tick(core::Tick tick) override;

    /// The profile; null: it has not changed since the last call.
    std::shared_ptr<const profile::Profile> changed();
    /// The start of the period of the profile, since the attach.
    std::uint64_t from_ns() const { return from_ns_; }

  private:
    std::size_t most_;
    std::uint64_t start_ns_ = 0;
    std::uint64_t from_ns_ = 0;
    bool lossy_ = false;
};

}  // namespace rsslag::session
