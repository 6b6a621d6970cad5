// SPDX-License-Identifier: BSD-2-Clause
#include "session/live_view.h"

#include <unistd.h>

#include <ctime>
#include <utility>

#include "procfs/process.h"
#include "procfs/system.h"

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

const std::string &TickNames::cgroup(const core::Tick &tick) {
    constexpr std::uint64_t kOld = 10'000'000'000;
    const core::ProcessReading &reading = tick.process;
    if (tick.state != core::State::Running) {
        static const std::string kNone;
        cgroups_.erase(reading.pid);
        return kNone;
    }
    Known &known = cgroups_[reading.pid];
    const bool is_new = known.start_ticks != reading.start_ticks || known.cgroup.empty();
    if (!is_new && tick.t_ns < known.t_ns + kOld) return known.cgroup;
    known = {reading.start_ticks, tick.t_ns, ""};
    if (const auto process = procfs::Process::open(reading.pid))
        if (const auto text = process->read_of_memory_task("cgroup"))
            known.cgroup = procfs::parse_cgroup(text->bytes).value_or("");
    return known.cgroup;
}

void post_tick(terminal::Screen &screen, core::Tick tick, TickNames &names) {
    const std::size_t processes = tick.all_processes;
    screen.post(
        [user = names.user(tick), cgroup = names.cgroup(tick),
         shared = std::make_shared<core::Tick>(std::move(tick))](auto &shown) {
            if (shown.live) shown.live->take(std::move(*shared), user, cgroup);
        },
        processes);
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
