// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "rsslag/terminal/screen.h"
#include "rsslag/view/screen.h"

namespace rsslag::session {

/// The facts that the live screen shows before the first tick. `below`: Esc returns to the list of processes.
view::ScreenFacts screen_facts(const core::SnapshotDocument &facts, std::chrono::milliseconds interval, bool walks,
                               bool below);

/// Queues ticks for the live screen; never waits.
void post_ticks(terminal::Screen &screen, std::vector<core::Tick> ticks);
/// Queues a notice for the live screen or the list of processes.
void post_notice(terminal::Screen &screen, std::string notice);

}  // namespace rsslag::session
