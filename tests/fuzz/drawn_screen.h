// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "rsslag/core/tick.h"
#include "rsslag/recording/header.h"
#include "rsslag/view/screen.h"

namespace rsslag::fuzz {

/// The screen of a replay, drawn in terminals of any size while keys are typed.
class DrawnScreen {
  public:
    /// `seed`: which keys and sizes.
    DrawnScreen(const recording::Header &header, const core::Machine &machine, std::uint64_t seed);

    void take(core::Tick tick);
    /// As it stands at the end.
    void end();

  private:
    std::uint64_t next(std::uint64_t below);
    void type();
    void draw(view::Size size);

    view::LiveScreen screen_;
    std::uint64_t state_;
    std::uint64_t ticks_ = 0, draws_ = 0;
};

}  // namespace rsslag::fuzz
