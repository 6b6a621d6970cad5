// SPDX-License-Identifier: BSD-2-Clause
// The footer with the keys, the help, and CMD's output.
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "documents/glyphs.h"
#include "documents/text_parts.h"
#include "help.h"
#include "key_row.h"
#include "live_state.h"

namespace rsslag::screen {
namespace {

std::vector<std::string> live_help() {
    return {"[ ]  a moment back, on",     "{ }  10 s   End  now",   "space  pause the display",
            "+ -  change the interval",   "w  walk smaps now",      "Tab  next process",
            "r  record; again: its end",  "? h F1  help   q  quit", "o  show, hide CMD's output",
            "i  type to CMD; Ctrl-] ends"};
}

/// The keys of the view of a process that is shown.
std::vector<Part> keys_here(const LiveState &state, const Tick &tick) {
    const std::vector<Part> always{{0, " q quit"}, {1, "? help"}};
    const auto with = [&always](std::vector<Part> keys) {
        keys.insert(keys.begin(), always.begin(), always.end());
        return keys;
    };
    const Part pause{6, state.facts.playback && !state.facts.playback->playing ? "space play" : "space pause"};
    if (state.help) return keys_of_help();
    if (state.stacks.shown)
        return with({{2, "Esc back"},
                     {3, state.stacks.tree ? "v table" : "v tree"},
                     {4, "/ filter"},
                     {5, state.stacks.tree ? "" : "s sort"},
                     pause});
    if (state.growth) return with({{2, "Esc back"}, {3, state.facts.sample_period > 0 ? "x stacks" : ""}, pause});
    if (state.one)
        return with({{2, "Esc back"},
                     {3, state.facts.sample_period > 0 ? "x stacks" : ""},
                     {4, "g grew"},
                     {5, "m member"},
                     pause});
    if (state.facts.playback) return replay_keys(state);
    if (state.past)
        return with({{2, "[ ] a moment back, on"}, {4, "{ } 10 s"}, {3, "End now"}, {5, "s sort"}, {6, "/ filter"}});
    const std::string enter = glyphs(state.style.utf8).enter;
    std::vector<Part> keys =
        with({{2, "s sort"},
              {3, "/ filter"},
              {4, "t threads"},
              {cpus_cache(tick) ? 4 : 10, "c CPUs"},
              {9, "m member"},
              {8, "g grew"},
              {5, enter + (cpus_cache(tick) && state.shown_table() == Table::Cpus ? " one CPU" : " one thread")},
              {6, "space pause"},
              {12, "+- interval"},
              {7, "w walk"}});
    if (state.facts.sample_period > 0) keys.push_back({3, "x stacks"});
    if (state.has_command && state.command.running) keys.push_back({3, "i type to the command"});
    if (state.facts.below)
        keys.push_back({2, "Esc back"});
    else
        keys.push_back({state.recording ? 2 : 11, state.recording ? "r end of recording" : "r record"});
    return keys;
}

}  // namespace

int output_rows(const LiveState &state, int space) {
    constexpr int kLeast = 8;
    if (!state.has_command || !state.output || space < kLeast) return 0;
    if (state.typing) return space / 2;
    const auto lines = static_cast<int>(std::min<std::size_t>(state.command.lines.size(), 100));
    const bool nothing = lines == 0 && (state.command.running || state.command.status == 0);
    return nothing ? 0 : std::min(lines + 1, std::max(space / 3, 2));
}

bool draw_typing(Grid &grid, const LiveState &state) {
    const int row = grid.size().rows - 1;
    if (state.filtering) {
        const bool lists = state.lists();
        grid.put(row, 0,
                 fmt::format(" filter by {}: {}_   Enter keeps it, Esc drops it",
                             lists                ? "name, command, user or PID"
                             : state.stacks.shown ? "function"
                                                  : "name or TID",
                             core::printable(lists                ? state.choices.filter
                                             : state.stacks.shown ? state.stacks.filter
                                                                  : state.filter,
                                             state.style.utf8)),
                 Look::Bold);
    } else if (state.typing) {
        grid.put(row, 0, " keys go to the command; Ctrl-] returns to rsslag", Look::Bold);
    }
    return state.filtering || state.typing;
}

void draw_footer(Grid &grid, const LiveState &state, const Process &process) {
    const Tick &tick = process.tick;
    const int rows = grid.size().rows;
    const int width = grid.size().columns - 1;
    const std::string_view mark = sign(tick.needs_resync ? core::Mark::AfterLoss : core::Mark::None);
    std::vector<Part> parts{
        {3, fmt::format(" {} events/s", thousands(static_cast<std::uint64_t>(process.events_per_s)))},
        {7, thousands(tick.emitted - std::min(tick.emitted, tick.lost)) + " seen"},
        {0, fmt::format("lost {}{}", mark, thousands(tick.lost))},
        {4, "resyncs " + thousands(tick.ledger.resyncs)},
        {1, fmt::format("rsslag: CPU {:.1f} %", tick.own.cpu_percent)},
        {5, fmt::format("RSS {}", amount(tick.page_size.pages(tick.own.rss), tick.page_size, state.style))},
        {2, tick.own.bpf_ns_per_event ? fmt::format("BPF {:.0f} ns/event", *tick.own.bpf_ns_per_event)
                                      : std::string("BPF not timed")}};
    if (const auto &walk = tick.process.walk) {
        parts.push_back({6, fmt::format("walk {:.1f} ms", static_cast<double>(walk->took_us) / 1000.0)});
    }
    grid.put(rows - 2, 0, fitting(parts, width), Look::Faint);
    if (draw_typing(grid, state)) return;
    draw_keys(grid, keys_here(state, tick), width, state.style.utf8);
}

void draw_help(Grid &grid, const Area &area, const LiveState &state) {
    const Glyphs &glyph = glyphs(state.style.utf8);
    Help help{{"j k PgUp PgDn Home End  move", "Enter  open   Esc  back", "s  sort by the next column",
               "/  filter by name or TID", "n N  next, previous match", "y  copy the row", "t  threads   c  CPUs",
               "m  rss, or one member", "g  what grew in 30 s", "x  stacks (--stacks)  v tree"},
              {" Words", "   flushed  what the kernel's own counter holds, and /proc/PID/stat says",
               "   cached   counted by a thread or a CPU, not yet added to that counter",
               "   exact    flushed + cached: what the process holds",
               "   walked   Rss in smaps: the page tables, slow and independent",
               fmt::format(" Marks  ~ approximate  @1.2s old walk  ! after a loss, until the resync  {} walk",
                           utf8_of(glyph.walk)),
               fmt::format("        {} flushed  {} cached  {} counter too high  {} the axis begins above 0",
                           utf8_of(glyph.flushed), utf8_of(glyph.cached), utf8_of(glyph.excess), utf8_of(glyph.cut))}};
    const std::vector<std::string> own = state.facts.playback ? replay_help() : live_help();
    help.keys.insert(help.keys.end(), own.begin(), own.end());
    draw_help(grid, area, help);
}

std::string kept_text(const CommandOutput &command) {
    if (command.why_not_kept.empty()) return fmt::format("complete in {}", command.file);
    return fmt::format("! the first {} bytes are in {}: {}", thousands(command.kept), command.file,
                       command.why_not_kept);
}

void draw_output(Grid &grid, const Area &area, const LiveState &state) {
    const CommandOutput &command = state.command;
    const std::string how = command.running  ? std::string("runs")
                            : command.status ? fmt::format("ended with status {}", *command.status)
                                             : std::string("has ended");
    const std::string name = core::printable(command.name, state.style.utf8);
    grid.put_field(
        area.row, area.column, area.column + area.columns,
        fitting(
            {{0, " OUTPUT"}, {1, how}, {2, kept_text(command)}, {3, name}, {4, thousands(command.bytes) + " bytes"}},
            area.columns - 1),
        Look::Heading);
    const int space = area.rows - 1;
    const auto count = static_cast<int>(command.lines.size());
    const int first = std::max(0, count - space);
    for (int i = first; i < count; ++i) {
        grid.put_field(area.row + 1 + i - first, area.column + 1, area.column + area.columns,
                       core::printable(command.lines[static_cast<std::size_t>(i)], state.style.utf8));
    }
}

}  // namespace rsslag::screen
