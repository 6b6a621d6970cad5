// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "rsslag/recording/report.h"
#include "rsslag/recording/sink.h"

namespace rsslag::recording {

/// Makes a report of what it is told, in memory that does not grow with the number of records.
class ReportBuilder : public Sink {
  public:
    ReportBuilder();
    ~ReportBuilder() override;

    core::Status begin(const Facts &facts) override;
    core::Status row(const Row &row) override;
    core::Status end(const Ending &ending) override;

    /// After end(), once.
    Report take();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::recording
