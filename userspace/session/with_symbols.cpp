// SPDX-License-Identifier: BSD-2-Clause
#include "with_symbols.h"

#include <utility>

#include "unwind/symbols.h"

namespace rsslag::session {
namespace {

using core::Status;

class WithSymbols final : public exporters::Sink {
  public:
    WithSymbols(exporters::Sink &sink, std::optional<unwind::Symbols> symbols)
        : sink_(sink), symbols_(std::move(symbols)) {}

    Status begin(const exporters::Facts &facts) override { return sink_.begin(facts); }
    Status row(const exporters::Row &row) override { return sink_.row(row); }
    void samples(const core::event::Samples &samples) override { sink_.samples(samples); }
    void stacks(const core::event::Stacks &stacks) override {
        symbols_ ? sink_.stacks(symbols_->named(stacks)) : sink_.stacks(stacks);
    }
    void absent_pages(const core::event::AbsentPages &absent) override { sink_.absent_pages(absent); }
    Status end(const exporters::Ending &ending) override { return sink_.end(ending); }

  private:
    exporters::Sink &sink_;
    std::optional<unwind::Symbols> symbols_;
};

}  // namespace

core::Result<std::unique_ptr<exporters::Sink>> with_symbols(exporters::Sink &sink,
                                                            const std::optional<std::string> &directory,
                                                            std::function<void(std::uint64_t)> opened) {
    std::optional<unwind::Symbols> symbols;
    if (directory) {
        auto found = unwind::Symbols::open(*directory, std::move(opened));
        if (!found) return found.error();
        symbols.emplace(std::move(*found));
    }
    return std::unique_ptr<exporters::Sink>(std::make_unique<WithSymbols>(sink, std::move(symbols)));
}

}  // namespace rsslag::session
