// SPDX-License-Identifier: BSD-2-Clause
#include "session/live_view.h"

#include <unistd.h>

#include <ctime>
#include <utility>

namespace rsslag::session {

screen::ScreenFacts screen_facts(const core::SnapshotDocument &facts, std::chrono::milliseconds interval, bool walks,
                                 bool below) {
    timespec up{};
    clock_gettime(CLOCK_BOOTTIME, &up);
    screen::ScreenFacts known;
    known.kernel = facts.kernel;
    known.machine = facts.machine;
    known.boot = std::chrono::system_clock::now() - std::chrono::seconds(up.tv_sec);
    known.clock_ticks = sysconf(_SC_CLK_TCK);
    known.interval = interval;
    known.walks = walks;
    known.below = below;
    return known;
}

void post_tick(terminal::Screen &screen, core::Tick tick, procfs::UserNames &users) {
    std::string user = users.of(tick.process.uid);
    screen.post([user = std::move(user), shared = std::make_shared<core::Tick>(std::move(tick))](auto &shown) {
        if (shown.live) shown.live->take(std::move(*shared), user);
    });
}

void post_stacks(terminal::Screen &screen, LiveStacks &stacks) {
    auto profile = stacks.changed();
    if (profile == nullptr) return;
    screen.post([profile = std::move(profile), from_ns = stacks.from_ns()](terminal::Shown &shown) {
        if (shown.live) shown.live->take(profile, from_ns);
    });
}

void post_notice(terminal::Screen &screen, std::string notice) {
    screen.post([notice = std::move(notice)](terminal::Shown &shown) {
        if (shown.live) {
            shown.live->notify(notice);
        } else if (shown.top) {
            shown.top->notify(notice);
        }
    });
}

}  // namespace rsslag::session
