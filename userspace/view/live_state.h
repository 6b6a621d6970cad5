// SPDX-License-Identifier: BSD-2-Clause
// What the live screen is made of; for live_*.cpp only.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "chart.h"
#include "rsslag/core/reading_figures.h"
#include "rsslag/view/screen.h"

namespace rsslag::view {

enum class Table : std::uint8_t { Threads, Cpus };
enum class Sort : std::uint8_t { Cached, Net, Faults, Flushes, Recent, Id, Name };
/// What the chart and the table's first number show; nullopt is RSS.
using ShownMember = std::optional<core::Member>;
inline constexpr std::array<ShownMember, core::kMembers + 1> kShownMembers{
    std::nullopt, core::Member::Anon, core::Member::File, core::Member::Shmem, core::Member::Swap};

core::Pages shown(const core::Members &members, ShownMember member);
std::string_view name(ShownMember member);

/// A task's or a CPU's value when it changed.
struct PastValue {
    std::uint64_t t_ns = 0;
    core::Members members;
};

/// One number over time, as far as it is kept.
struct Sample {
    std::uint64_t t_ns = 0;
    core::Members flushed, cached;
    std::optional<core::Pages> walked;
    bool needs_resync = false;
};

/// One traced process as the screen knows it.
struct Process {
    Tick tick;  ///< the last one while it ran, or else the last one
    std::optional<core::State> ended;
    std::deque<Sample> history;
    std::deque<LoggedFlush> flushes;
    std::unordered_map<int, std::vector<PastValue>> tasks;  ///< by the kernel's TID
    std::unordered_map<int, std::vector<PastValue>> cpus;
    double events_per_s = 0;
    std::uint64_t last_change_ns = 0;  ///< since when no counter and no fault count has moved
};

/// A row of the table before it is drawn.
struct Entry {
    std::int64_t key = 0;  ///< ascending
    std::string_view name;
    int id = 0;             ///< the kernel's TID, or the CPU
    std::size_t index = 0;  ///< in the tick's tasks or cpus
};

/// The rows that the filter lets through.
struct Listing {
    std::vector<Entry> entries;  ///< sorted as far as asked for
    std::size_t selected = 0;    ///< its rank
    std::size_t total = 0;       ///< before the filter
};

struct LiveState {
    ScreenFacts facts;
    TextStyle style;
    std::map<int, Process> processes;  ///< by PID
    std::size_t left_out = 0;          ///< that have ended and are not among these any more
    int pid = 0;                       ///< the one that is shown
    int shown_before = 0;              ///< a rewind: it is shown again as soon as it is there
    std::optional<Process> frozen;     ///< while the display is paused
    CommandOutput command;
    bool has_command = false;
    bool typing = false;     ///< keys go to CMD
    bool recording = false;  ///< a recording goes on
    std::string notice;
    std::optional<Table> table;  ///< nullopt: that of who caches under this scheme
    Sort sort_threads = Sort::Cached;
    Sort sort_cpus = Sort::Id;
    ShownMember member;
    std::optional<int> selected;  ///< nullopt: whatever is first
    bool one = false;             ///< a single thread or CPU is shown
    bool growth = false;          ///< what grew lately is shown
    bool help = false;
    bool output = true;  ///< CMD's output is shown
    std::string filter;
    bool filtering = false;
    bool asked_to_quit = false;

    const Process *shown_process() const;
    Table shown_table() const;
    Sort sort() const { return shown_table() == Table::Cpus ? sort_cpus : sort_threads; }
    std::optional<Intent> character(char32_t key);
    void move(std::int64_t by);
    void next_sort();
    void next_process();
    void forget_ended();
};

bool cpus_cache(const Tick &tick);

/// Sorted up to the rank `until` at least.
Listing list(const LiveState &state, const Process &process, std::size_t until);
std::vector<Sort> sorts_of(const Process &process, Table table);
/// What the table is sorted by: under the `cpu` scheme threads cache nothing.
Sort effective_sort(const LiveState &state, const Process &process);
std::string_view heading(Sort sort, bool cpus_cache);

/// The three lines that answer the question.
void draw_head(Grid &grid, const LiveState &state, const Process &process);
/// From `area`'s first row on: title, headings, rows.
void draw_table(Grid &grid, const Area &area, const LiveState &state, const Process &process, std::uint64_t now_ns);
void draw_flushes(Grid &grid, const Area &area, const LiveState &state, const Process &process, std::uint64_t now_ns,
                  std::optional<int> of_tid);
/// A thread or a CPU on its own.
void draw_one(Grid &grid, const Area &area, const LiveState &state, const Process &process, std::uint64_t now_ns);

/// What grew in the last seconds.
void draw_growth(Grid &grid, const Area &area, const LiveState &state, const Process &process, std::uint64_t now_ns);

/// The last two rows: figures of the trace, keys.
void draw_footer(Grid &grid, const LiveState &state, const Process &process);
void draw_help(Grid &grid, const Area &area, const LiveState &state);
/// What CMD wrote last, and where all of it is.
void draw_output(Grid &grid, const Area &area, const LiveState &state);

/// Keys that mean something else in a replay than in a live trace; whether this is one, and what it asks for.
struct ReplayKey {
    bool taken = false;
    std::optional<Intent> intent;
};
ReplayKey replay_key(LiveState &state, const Key &key);
/// "live 1.0 s", or where a replay is.
std::string pace_text(const LiveState &state, const Process &process);

/// As many of the parts as fit, in their order; those with the highest number go first.
struct Part {
    int drop_order = 0;
    std::string text;
};
std::string fitting(const std::vector<Part> &parts, int width, std::string_view between = "  ");

/// "−21.7s", "−3m" as an age in a column.
std::string age(std::uint64_t ns);

std::vector<Part> replay_keys(const LiveState &state);
std::vector<std::string> replay_help();

}  // namespace rsslag::view
