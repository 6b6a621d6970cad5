// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "exporters/sink.h"
#include "report/report.h"

namespace rsslag::report {

/// Builds a report from rows. Its memory does not grow with the number of records.
class ReportBuilder : public exporters::Sink {
  public:
    ReportBuilder();
    ~ReportBuilder() override;

    core::Status begin(const exporters::Facts &facts) override;
    core::Status row(const exporters::Row &row) override;
    core::Status end(const exporters::Ending &ending) override;
    void samples(const core::event::Samples &samples) override;
    void stacks(const core::event::Stacks &stacks) override;
    void absent_pages(const core::event::AbsentPages &absent) override;

    /// Call it once, after end().
    Report take();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::report
