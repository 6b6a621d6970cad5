// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "rsslag/report/report.h"
#include "rsslag/sinks/sink.h"

namespace rsslag::report {

/// Builds a report from rows. Its memory does not grow with the number of records.
class ReportBuilder : public sinks::Sink {
  public:
    ReportBuilder();
    ~ReportBuilder() override;

    core::Status begin(const sinks::Facts &facts) override;
    core::Status row(const sinks::Row &row) override;
    core::Status end(const sinks::Ending &ending) override;

    /// Call it once, after end().
    Report take();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::report
