// SPDX-License-Identifier: BSD-2-Clause
// State and parts of the live screen; for live_*.cpp only.
#pragma once

#include <algorithm>
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
#include "column_chooser.h"
#include "core/member_name.h"
#include "core/reading_figures.h"
#include "documents/columns.h"
#include "documents/glyphs.h"
#include "documents/text_parts.h"
#include "documents/top_rows.h"
#include "groups.h"
#include "history.h"
#include "profile/lines.h"
#include "screen/screen.h"

namespace rsslag::screen {

using documents::amount;
using documents::cells;
using documents::Column;
using documents::column;
using documents::ColumnLayout;
using documents::columns_within;
using documents::glyphs;
using documents::Glyphs;
using documents::local_clock;
using documents::right;
using documents::shared_line;
using documents::sharing;
using documents::sign;
using documents::thousands;
using documents::top_columns;
using documents::TopCells;
using documents::upper;
using documents::utf8_of;
using documents::Window;
using documents::window_of;

enum class Table : std::uint8_t { Threads, Cpus };
enum class Sort : std::uint8_t { Cached, Net, Faults, Flushes, Recent, Id, Name };
/// The member that the chart and the table's first number show; nullopt is RSS.
using ShownMember = std::optional<core::Member>;
inline constexpr auto kShownMembers = [] {
    std::array<ShownMember, core::kMembers + 1> shown{};
    std::copy(core::kMembersInText.begin(), core::kMembersInText.end(), shown.begin() + 1);
    return shown;
}();

core::Pages shown(const core::Members &members, ShownMember member);
std::string_view name(ShownMember member);

/// The value of a task or a CPU at the tick at which it changed.
struct PastValue {
    std::uint64_t t_ns = 0;
    core::Members members;
};

/// One point of a process's history.
struct Sample {
    std::uint64_t t_ns = 0;
    core::Members flushed, cached;
    std::optional<core::Pages> walked;
    core::Mark mark = core::Mark::None;
};

/// The figures of a process in the list of processes, as of its last tick. A process without a tick at a moment has had
/// no update: its growth and rates are those of the moment.
struct ListFigures {
    core::Members flushed, cached;
    core::Pages exact;
    std::optional<core::Pages> stat, lag;
    core::Mark mark = core::Mark::None;
    core::Verdict verdict = core::Verdict::Unwalked;
    std::uint64_t mm = 0;  ///< MmView::generation: equal for processes that share one
    core::Pages grew;      ///< in the last kGrowthNs, or since the attach
    core::Mark grew_mark = core::Mark::None;
    std::optional<double> growth;  ///< pages per second, over the last kRateNs; nullopt: not known yet
    core::Mark growth_mark = core::Mark::None;
    std::optional<double> updates;  ///< per second, since the previous tick; nullopt: not known yet
    bool updates_lost = false;      ///< records were lost since then: `updates` is a lower bound
    std::uint64_t resyncs = 0;
};
inline constexpr std::uint64_t kGrowthNs = 30'000'000'000;
inline constexpr std::uint64_t kRateNs = 5'000'000'000;

/// The state of one traced process on the screen.
struct Process {
    Tick tick;  ///< the last tick while it was running; if there is none, its last tick
    std::optional<core::State> ended;
    std::deque<Sample> history;
    std::deque<core::CourseSpan> course;  ///< what it held, by every record
    std::deque<std::uint64_t> execs;      ///< ticks with another program than the one before
    std::deque<LoggedFlush> flushes;
    std::unordered_map<int, std::vector<PastValue>> tasks;  ///< by host TID
    std::unordered_map<int, std::vector<PastValue>> cpus;
    double events_per_s = 0;
    std::uint64_t last_change_ns = 0;  ///< the last tick at which the count of updates or faults changed
    std::string user;                  ///< its name, or its number
    std::string cgroup;                ///< empty: not known
    ListFigures figures;
    bool rests = false;     ///< `figures` will not change before its next tick
    std::uint64_t seq = 0;  ///< Tick::seq of its last tick, of whichever kind
};

/// The part of the last tick, of whichever process, that is the same for all processes.
struct Latest {
    std::uint64_t seq = 0, t_ns = 0;
    std::chrono::system_clock::time_point time;
    core::PageSize page_size;
    core::Scheme scheme = core::Scheme::Plain;
    std::uint64_t lost = 0, emitted = 0;
    double events_per_s = 0;
    documents::OwnCost own;
    std::optional<core::Extremes> all;  ///< Tick::all
    std::size_t processes = 0;          ///< Tick::all_processes
};

/// The peaks of processes that have ended.
struct EndedPeaks {
    documents::Bounds highest, sum;
    std::string name;  ///< of the process with the highest peak; raw bytes

    void add(const Tick &tick);
};

/// All traced processes.
struct Overview {
    std::map<int, Process> processes;     ///< by PID
    std::deque<Sample> sums;              ///< of the processes that were running, one for each moment with ticks
    std::deque<core::CourseSpan> course;  ///< what they held, by every record
    Latest latest;
    // Ended processes that were removed from `processes`:
    std::size_t left_out = 0;
    EndedPeaks left_out_peaks;
};

enum class ListColumn : std::uint8_t { Exact, Growth, Peak, Lag, Threads, Updates, Verdict, User, Pid, Command };
inline constexpr std::size_t kListColumns = 10;

/// The user's choices in the list of processes.
struct ListChoices {
    ListColumn sort = ListColumn::Exact;
    bool reversed = false;
    Shape shape = Shape::Flat;
    bool ended = false;           ///< processes that have ended are listed one by one
    std::optional<int> selected;  ///< PID, or kEndedRow; nullopt: the first row
    std::string filter;
    std::array<bool, kListColumns> hidden{};
    ColumnChooser chooser;
};
/// Stands for the row of all processes that have ended.
inline constexpr int kEndedRow = -1;

/// A row of the table before it is drawn.
struct Entry {
    std::int64_t key = 0;  ///< rows are sorted by it, ascending
    std::string_view name;
    int id = 0;             ///< the host TID, or the CPU
    std::size_t index = 0;  ///< in the tick's tasks or cpus
};

/// The rows that match the filter.
struct Listing {
    std::vector<Entry> entries;  ///< sorted up to the requested rank
    std::size_t selected = 0;    ///< rank of the selected entry; 0 if none is selected
    std::size_t total = 0;       ///< number of rows before the filter
};

/// What the stacks are sorted by.
enum class StackSort : std::uint8_t { Came, Went, Net, Resident, Self };

/// The view of stacks.
struct Stacks {
    bool shown = false;
    bool tree = false;
    StackSort sort = StackSort::Came;
    std::string filter;
    std::shared_ptr<const profile::Profile> profile, latest;  ///< the one shown differs while the display is paused
    std::uint64_t from_ns = 0;                                ///< the start of the period of `latest`
    std::vector<profile::Line> lines;                         ///< of the process or thread shown; those that match
    std::size_t selected = 0;                                 ///< index in `lines`
};

struct LiveState {
    ScreenFacts facts;
    TextStyle style;
    Overview all;
    int pid = 0;                         ///< the process shown
    int shown_before = 0;                ///< after a rewind: the process to show again at its first tick
    std::optional<Process> frozen;       ///< set while the display of a process is paused
    std::optional<Overview> frozen_all;  ///< set while the list is paused, without what it does not show
    History history{0, 0};
    std::optional<Moment> cursor;  ///< the earlier moment that is shown
    std::optional<Overview> past;  ///< of that moment
    std::optional<bool> listed;    ///< whether the list is shown; nullopt: if there is more than one process
    ListChoices choices;           ///< in the list
    CommandOutput command;
    bool has_command = false;
    bool typing = false;     ///< keys are input of CMD
    bool recording = false;  ///< a recording is in progress
    std::string notice;
    std::optional<Table> table;  ///< nullopt: threads or CPUs, whichever cache under this scheme
    Sort sort_threads = Sort::Cached;
    Sort sort_cpus = Sort::Id;
    ShownMember member;
    std::optional<int> selected;  ///< nullopt: the first entry
    bool one = false;             ///< a single thread or CPU is shown
    bool growth = false;          ///< recent growth is shown
    Stacks stacks;
    bool help = false;
    bool output = true;  ///< CMD's output is shown
    std::string filter;
    bool filtering = false;
    bool asked_to_quit = false;
    bool asks_from_when = false;  ///< the next key selects from when to record

    const Process *shown_process() const;
    /// Whether the list of processes is shown.
    bool lists() const;
    const Overview &shown_all() const { return past ? *past : frozen_all ? *frozen_all : all; }
    /// Whether time stands still on the screen: it is paused, or an earlier moment is shown.
    bool stands_still() const { return past || (facts.playback && !facts.playback->playing); }
    Table shown_table() const;
    Sort sort() const { return shown_table() == Table::Cpus ? sort_cpus : sort_threads; }
    std::optional<Intent> character(char32_t key);
    void move(std::int64_t by);
    /// Moves the selection of a process's table by n or N; returns false for another key.
    bool move_to_match(const Key &key);
    void next_sort();
    /// Sorts the threads or CPUs by the column with this heading, if they can be.
    void sort_by(std::string_view column);
    /// Selects a row of the table that is shown; returns whether it was selected before.
    bool select(std::size_t rank);
    /// The thread whose view is shown; 0: none is.
    int shown_tid() const;
    /// Lists the stacks again: after another profile, or a key.
    void list_stacks();
    void move_in_stacks(std::int64_t by);
    /// Sorts the stacks by the column with this heading, if they can be.
    void sort_stacks_by(std::string_view column);
    /// Handles a key while the stacks are shown; returns false for a key with its usual meaning.
    bool stacks_key(const Key &key);
    /// Shows this process instead of the list.
    void open(int process);
    void next_process();
    void forget_ended();
    /// As LiveScreen::take().
    void take(Tick tick, std::string user, std::string cgroup);
    void take_latest(const Tick &tick);
    Overview overview_at(const Moment &moment) const;
    void return_to_now();
    /// Handles a key that moves the cursor; returns false for another key.
    bool cursor_key(const Key &key);
    std::size_t samples() const;
};

bool cpus_cache(const Tick &tick);

/// The rows of the table, sorted at least up to the rank `until`.
Listing list(const LiveState &state, const Process &process, std::size_t until);
std::vector<Sort> sorts_of(const Process &process, Table table);
/// The column by which the table is sorted. Under the `cpu` scheme threads cannot be sorted by `cached`.
Sort effective_sort(const LiveState &state, const Process &process);
std::string_view heading(Sort sort, bool cpus_cache);

/// Draws the three lines at the top with the figures of the process.
void draw_head(Grid &grid, const LiveState &state, const Process &process);
/// Draws the title, the headings and the rows, from the first row of `area` on.
void draw_table(Grid &grid, const Area &area, const LiveState &state, const Process &process, std::uint64_t now_ns);
void draw_flushes(Grid &grid, const Area &area, const LiveState &state, const Process &process, std::uint64_t now_ns,
                  std::optional<int> of_tid);
/// Draws the view of a single thread or CPU.
void draw_one(Grid &grid, const Area &area, const LiveState &state, const Process &process, std::uint64_t now_ns);

/// Draws the growth of the last seconds, by mapping and by thread.
void draw_growth(Grid &grid, const Area &area, const LiveState &state, const Process &process, std::uint64_t now_ns);

/// Draws the functions whose stacks were sampled.
void draw_stacks(Grid &grid, const Area &area, const LiveState &state, const Process &process);

/// Draws the list of processes: the whole screen.
void draw_list(Grid &grid, const LiveState &state, std::chrono::milliseconds since_tick);
/// Handles a key while the list is shown.
std::optional<Intent> list_key(LiveState &state, const Key &key);
/// Handles a click on a row or a heading of the list.
std::optional<Intent> list_click(LiveState &state, const Click &click);
/// The figures of a process after its tick. `before`: its previous tick; null: there is none.
ListFigures list_figures(const Process &process, const Tick *before);
/// Updates the figures of a process that had no tick at the last moment, at `now_ns`: it has not changed since its
/// last.
void rest_figures(Process &process, std::uint64_t now_ns);
/// The sums over the running processes; an mm that several processes share counts once.
Sample sums_of(const Overview &all);

/// Draws the last two rows: figures of the trace, then the keys.
void draw_footer(Grid &grid, const LiveState &state, const Process &process);
void draw_help(Grid &grid, const Area &area, const LiveState &state);
/// The number of rows for CMD's output if `space` rows are left; 0: it is not shown, since it is hidden or empty.
int output_rows(const LiveState &state, int space);
/// Draws the row of the keys while something is typed; returns whether it is.
bool draw_typing(Grid &grid, const LiveState &state);
/// Draws the last lines of CMD's output and the path of the file with all of its output.
void draw_output(Grid &grid, const Area &area, const LiveState &state);

/// The result of a key that may have another meaning in a replay than in a live trace.
struct ReplayKey {
    bool taken = false;  ///< it has another meaning, and was handled
    std::optional<Intent> intent;
};
ReplayKey replay_key(LiveState &state, const Key &key);
/// "PAST -00:42": the distance of the cursor from now; empty: it is now.
std::string past_text(const LiveState &state);
/// "live 1.0 s", "ended 1.0 s", the position of a replay, or past_text().
std::string pace_text(const LiveState &state, bool ended, bool paused);

/// A part of a line. fitting() joins the parts that fit; the highest drop_order is dropped first, 0 is never dropped.
struct Part {
    int drop_order = 0;
    std::string text;
};
std::string fitting(const std::vector<Part> &parts, int width, std::string_view between = "  ");

/// Draws the first row. From both ends, the parts with the highest drop_order (at most 6) are dropped until all fit.
void draw_title_row(Grid &grid, std::vector<Part> left, std::vector<Part> right);

/// "21.7s", "3m" or "2h", for a column of ages.
std::string age(std::uint64_t ns);

/// "3.2 s", "2:07.5": a position in a recording.
std::string position(std::uint64_t ns);
/// Draws the bar of a replay. A click on it goes to that time.
void draw_timeline(Grid &grid, int row, const LiveState &state);

std::vector<Part> replay_keys(const LiveState &state);
std::vector<std::string> replay_help();

}  // namespace rsslag::screen
