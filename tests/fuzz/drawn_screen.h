// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "core/tick.h"
#include "recording/header.h"
#include "screen/screen.h"

namespace rsslag::fuzz {

/// The screen of a replay, drawn in terminals of any size while keys are typed.
class DrawnScreen {
  public:
    /// `seed` determines the keys and the sizes.
    DrawnScreen(const recording::Header &header, const core::Machine &machine, std::uint64_t seed);

    void take(core::Tick tick);
    /// Draws the screen as it is at the end.
    void end();

  private:
    std::uint64_t next(std::uint64_t below);
    void type();
    void draw(documents::Size size);

    screen::LiveScreen screen_;
    std::uint64_t state_;
    std::uint64_t ticks_ = 0, draws_ = 0;
};

}  // namespace rsslag::fuzz
