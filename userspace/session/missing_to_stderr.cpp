// SPDX-License-Identifier: BSD-2-Clause
#include "missing_to_stderr.h"

#include <utility>

#include "analysis/missing.h"
#include "terminal/output.h"

namespace rsslag::session {
namespace {

using core::Status;

class MissingToStderr final : public exporters::Sink {
  public:
    explicit MissingToStderr(std::unique_ptr<exporters::Sink> sink) : sink_(std::move(sink)) {}

    Status begin(const exporters::Facts &facts) override { return sink_->begin(facts); }
    Status row(const exporters::Row &row) override { return sink_->row(row); }
    void samples(const core::event::Samples &samples) override { sink_->samples(samples); }
    void stacks(const core::event::Stacks &stacks) override { sink_->stacks(stacks); }
    void absent_pages(const core::event::AbsentPages &absent) override { sink_->absent_pages(absent); }
    Status end(const exporters::Ending &ending) override {
        for (const exporters::MissingPart &missing : ending.missing)
            terminal::print_error(
                analysis::missing_text(missing.reason, missing.from_ns, missing.to_ns, missing.records));
        return sink_->end(ending);
    }

  private:
    std::unique_ptr<exporters::Sink> sink_;
};

}  // namespace

std::unique_ptr<exporters::Sink> missing_to_stderr(std::unique_ptr<exporters::Sink> sink) {
    return std::make_unique<MissingToStderr>(std::move(sink));
}

}  // namespace rsslag::session
