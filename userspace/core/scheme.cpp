// SPDX-License-Identifier: BSD-2-Clause
#include "core/scheme.h"

#include <algorithm>

namespace rsslag::core {

std::string_view name(Scheme scheme) {
    switch (scheme) {
        case Scheme::Thread: return "thread";
        case Scheme::Cpu: return "cpu";
        case Scheme::Plain: break;
    }
    return "plain";
}

std::string_view name(Truth truth) {
    switch (truth) {
        case Truth::Flushed: return "flushed";
        case Truth::Exact: return "exact";
        case Truth::Unknown: break;
    }
    return "unknown";
}

namespace {

std::int64_t batch_of(int cpus) {
    return std::max<std::int64_t>(32, 2 * std::int64_t{cpus});
}

}  // namespace

std::optional<std::int64_t> Machine::batch() const {
    if (!cpus_cache(scheme)) return std::nullopt;
    return batch_of(cpus_online);
}

Bound bound(const Machine &machine, std::int64_t tasks) {
    constexpr std::int64_t kFaultsBeforeFlush = 64;
    switch (machine.scheme) {
        case Scheme::Thread: {
            const Pages all{tasks * kFaultsBeforeFlush};
            return {.members = Members::of_each(all), .rss = all, .hard = false};
        }
        case Scheme::Cpu: {
            const Pages each{machine.cpus_online * (batch_of(std::max(machine.cpus_online, machine.cpus_present)) - 1)};
            const auto members = Members::of_each(each);
            return {.members = members, .rss = members.rss(), .hard = true};
        }
        case Scheme::Plain: break;
    }
    return {.members = {}, .rss = {}, .hard = true};
}

Truth classify_reader(Pages shown, const Members &flushed, const Members &exact) {
    const Pages if_flushed = clamped_rss(flushed);
    const Pages if_exact = clamped_rss(exact);
    if (if_flushed == if_exact) return Truth::Unknown;
    if (shown == if_flushed) return Truth::Flushed;
    if (shown == if_exact) return Truth::Exact;
    return Truth::Unknown;
}

}  // namespace rsslag::core
