// SPDX-License-Identifier: BSD-2-Clause
// The cursor that shows an earlier moment of a live trace.
#include <fmt/format.h>

#include <algorithm>

#include "live_state.h"

namespace rsslag::screen {
namespace {

constexpr std::uint64_t kStepNs = 10'000'000'000;  ///< of { and }

template <class Timed>
void drop_later(std::deque<Timed> &values, std::uint64_t t_ns) {
    while (!values.empty() && values.back().t_ns > t_ns)
        values.pop_back();
}

/// The index of the moment that a key leads to from the one at `from`; -1: to one before the first.
std::int64_t index_after(const std::vector<Moment> &moments, std::int64_t from, char32_t key) {
    const auto last = static_cast<std::int64_t>(moments.size()) - 1;
    const auto at = [&](std::int64_t index) { return moments[static_cast<std::size_t>(index)].t_ns; };
    if (key == U'[') return from - 1;
    if (key == U']') return from + 1;
    std::int64_t to = from;
    if (key == U'{') {
        while (to >= 0 && at(to) + kStepNs > at(from))
            --to;
    } else {
        while (to <= last && at(to) < at(from) + kStepNs)
            ++to;
    }
    return to;
}

}  // namespace

/// The ticks are taken again, so the tables are those that the screen has shown. Charts go further back than the ticks
/// that are kept.
Overview LiveState::overview_at(const Moment &moment) const {
    LiveState then;
    then.facts = facts;
    then.pid = pid;
    history.each_until(moment.seq, [&](const Tick &tick, const std::string &user, const std::string &cgroup) {
        then.take(tick, user, cgroup);
    });
    for (auto &[each, process] : then.all.processes) {
        const auto now = all.processes.find(each);
        if (now == all.processes.end()) continue;
        process.history = now->second.history;
        drop_later(process.history, process.tick.t_ns);
        process.course = now->second.course;
        drop_later(process.course, process.tick.t_ns);
    }
    then.all.sums = all.sums;
    then.all.course = all.course;
    drop_later(then.all.course, moment.t_ns);
    drop_later(then.all.sums, moment.t_ns - 1);  // the sum of the moment itself comes with the next tick
    return std::move(then.all);
}

void LiveState::return_to_now() {
    past.reset();
    cursor.reset();
}

bool LiveState::cursor_key(const Key &key) {
    if (facts.playback) return false;
    if (key.name == Key::Name::End && cursor) return return_to_now(), true;
    constexpr std::u32string_view kKeys = U"[]{}";
    if (key.name != Key::Name::Character || kKeys.find(key.character) == std::u32string_view::npos) return false;
    if (!history.kept()) return notice = "no earlier moments are kept: --history 0", true;
    const std::vector<Moment> moments = history.moments(lists() ? std::nullopt : std::optional(pid));
    const auto last = static_cast<std::int64_t>(moments.size()) - 1;
    const auto shown = std::find_if(moments.begin(), moments.end(),
                                    [this](const Moment &each) { return cursor && each.seq >= cursor->seq; });
    const std::int64_t from = shown == moments.end() ? last : shown - moments.begin();
    const std::int64_t to = index_after(moments, from, key.character);
    if (to >= last) {
        notice = cursor ? "" : "this is now: [ goes back";
        return return_to_now(), true;
    }
    if (to < 0) {
        notice = history.dropped_by_size() ? fmt::format("no earlier moment is kept: more than {} MiB were dropped",
                                                         history.most_bytes() >> 20)
                                           : "no earlier moment is kept";
        if (from <= 0) return true;
    }
    cursor = moments[static_cast<std::size_t>(std::max<std::int64_t>(to, 0))];
    past = overview_at(*cursor);
    return true;
}

std::string past_text(const LiveState &state) {
    if (!state.cursor) return "";
    const std::uint64_t ago =
        (state.all.latest.t_ns - std::min(state.all.latest.t_ns, state.cursor->t_ns)) / 1'000'000'000;
    return fmt::format("PAST {}{:02}:{:02}", glyphs(state.style.utf8).minus, ago / 60, ago % 60);
}

}  // namespace rsslag::screen
