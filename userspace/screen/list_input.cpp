// SPDX-License-Identifier: BSD-2-Clause
// The keys of the list of processes of a trace.
#include <fmt/format.h>

#include <algorithm>

#include "list_keys.h"
#include "live_state.h"
#include "process_list.h"

namespace rsslag::screen {
namespace {

/// Moves the selection.
void move_in_list(LiveState &state, std::int64_t by) {
    const ListRows list = list_rows(state);
    if (list.rows.empty()) return;
    const auto last = static_cast<std::int64_t>(list.rows.size()) - 1;
    const auto to = std::clamp(static_cast<std::int64_t>(list.selected) + by, std::int64_t{0}, last);
    state.choices.selected = list.rows[static_cast<std::size_t>(to)].pid;
}

/// The selected process; nullopt: none is selected.
std::optional<int> selected_process(const LiveState &state) {
    const ListRows list = list_rows(state);
    if (list.rows.empty() || list.rows[list.selected].process == nullptr) return std::nullopt;
    return list.rows[list.selected].pid;
}

void choose_column(LiveState &state, const Key &key) {
    ListChoices &list = state.choices;
    const auto chosen = list.chooser.key(key, kListColumns);
    if (!chosen) return;
    if (*chosen == static_cast<std::size_t>(ListColumn::Command)) {
        state.notice = "the command is always shown";
    } else {
        list.hidden[*chosen] = !list.hidden[*chosen];
    }
}

void pause(LiveState &state) {
    if (state.past) return state.return_to_now();
    if (state.frozen_all) return state.frozen_all.reset();
    state.frozen_all = state.all;
    for (auto &[pid, process] : state.frozen_all->processes) {
        process.history.clear(), process.flushes.clear(), process.tasks.clear(), process.cpus.clear();
        process.tick.ledger = {};
    }
}

void sort_by(ListChoices &list, ListColumn column) {
    list.reversed = list.sort == column && !list.reversed;
    list.sort = column;
}

std::optional<Intent> list_character(LiveState &state, char32_t key) {
    ListChoices &list = state.choices;
    switch (key) {
        case U's':
            list.sort = static_cast<ListColumn>((static_cast<std::size_t>(list.sort) + 1) % kListColumns);
            list.reversed = false;
            state.notice = fmt::format("sorted by {}", column_name(list.sort));
            return std::nullopt;
        case U'S':
            list.reversed = !list.reversed;
            state.notice = fmt::format("sorted by {}{}", column_name(list.sort), list.reversed ? ", reversed" : "");
            return std::nullopt;
        case U'/': state.filtering = true; return std::nullopt;
        case U'v': list.shape = next(list.shape, !state.facts.playback); return std::nullopt;
        case U'C': list.chooser.begin(); return std::nullopt;
        case U' ': pause(state); return std::nullopt;
        case U'g':
            if (const auto pid = selected_process(state)) {
                state.open(*pid);
                state.growth = true;
            }
            return std::nullopt;
        case U'x':
            if (const auto pid = selected_process(state)) {
                state.open(*pid);
                state.stacks.shown = true;
                state.list_stacks();
            }
            return std::nullopt;
        case U'w':
        case U'r':
            if (const auto pid = selected_process(state)) state.pid = *pid;
            break;
        case U't':
        case U'c':
        case U'm': state.notice = "open a process first (Enter)"; return std::nullopt;
        default: break;
    }
    return state.character(key);
}

}  // namespace

std::optional<Intent> list_click(LiveState &state, const Click &click) {
    ListChoices &list = state.choices;
    if (click.what == Click::What::Heading) {
        const auto *const heading = std::find(kListHeadings.begin(), kListHeadings.end(), click.heading);
        if (heading == kListHeadings.end()) return std::nullopt;
        sort_by(list, static_cast<ListColumn>(heading - kListHeadings.begin()));
        state.notice = fmt::format("sorted by {}{}", column_name(list.sort), list.reversed ? ", reversed" : "");
        return std::nullopt;
    }
    const ListRows rows = list_rows(state);
    if (click.rank >= rows.rows.size()) return std::nullopt;
    const int pid = rows.rows[click.rank].pid;
    if (list.selected == pid) return list_key(state, {Key::Name::Enter});
    list.selected = pid;
    return std::nullopt;
}

std::optional<Intent> list_key(LiveState &state, const Key &key) {
    if (state.choices.chooser.open()) {
        choose_column(state, key);
        return std::nullopt;
    }
    if (const auto by = move_of(key)) {
        move_in_list(state, *by);
        return std::nullopt;
    }
    const ListRows list = list_rows(state);
    if (const auto by = match_move_of(key, list.selected, list.rows.size())) {
        if (state.choices.filter.empty())
            state.notice = kNoFilter;
        else
            move_in_list(state, *by);
        return std::nullopt;
    }
    switch (key.name) {
        case Key::Name::Character: return list_character(state, key.character);
        case Key::Name::Tab: state.next_process(); break;
        case Key::Name::Enter:
            move_in_list(state, 0);  // keeps the first row selected if there was no selection
            if (const auto pid = selected_process(state))
                state.open(*pid);
            else if (state.choices.selected == kEndedRow)
                state.choices.ended = !state.choices.ended;
            else
                state.notice = "a cgroup has no screen of its own: / filters by its name";
            break;
        case Key::Name::Escape:
            if (state.help) {
                state.help = false;
            } else {
                state.choices.filter.clear();
            }
            break;
        default: break;
    }
    return std::nullopt;
}

}  // namespace rsslag::screen
