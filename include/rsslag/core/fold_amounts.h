// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "rsslag/core/update_amounts.h"

namespace rsslag::core {

/// `cpu` scheme: an update that left nothing cached does not tell how much went into the counter with it. Where another
/// CPU folded at the same time it may stay open.
class FoldAmounts final : public UpdateAmounts {
  public:
    FoldAmounts(int cpus, std::int64_t batch);
    ~FoldAmounts() override;

    void born(std::uint64_t mm) override;
    void read(std::uint64_t mm, const CounterReading &reading, std::uint64_t begin_ns) override;
    std::optional<std::uint64_t> apply(std::uint64_t mm, const rsslag_update &update, const Applied &applied,
                                       std::vector<Settled> &out) override;
    void apply(std::uint64_t mm, const rsslag_sum &sum, std::vector<Settled> &out) override;
    void advance(std::uint64_t t_ns, std::vector<Settled> &out) override;
    void drop(std::uint64_t mm, std::vector<Settled> &out) override;
    void forget(std::vector<Settled> &out) override;
    bool open() const override;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::core
