// SPDX-License-Identifier: BSD-2-Clause
#include "process_list.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "core/text.h"
#include "list_keys.h"
#include "tree.h"

namespace rsslag::screen {
namespace {

using core::Pages;
using documents::bounds_of;

/// Unexplained first, then those that are not known, then those that agree.
int severity(core::Verdict verdict) {
    switch (verdict) {
        case core::Verdict::Unexplained: return 0;
        case core::Verdict::Moving: return 1;
        case core::Verdict::Unwalked: return 2;
        case core::Verdict::Explained: return 3;
        case core::Verdict::Agrees: break;
    }
    return 4;
}

/// The command line without the directory of the program, or the comm.
std::string_view command_bytes(const Process &process) {
    const ProcessReading &reading = process.tick.process;
    const std::string_view line = reading.command_line;
    if (line.empty()) return reading.comm;
    return line.substr(line.substr(0, line.find(' ')).rfind('/') + 1);  // npos + 1 is 0
}

/// What the rows are sorted by, in ascending order: negative for sizes and rates, whose largest comes first. nullopt:
/// text.
std::optional<double> key_of(int pid, const Process &process, ListColumn column) {
    const ListFigures &figures = process.figures;
    const auto largest_first = [](auto number) { return -static_cast<double>(number); };
    switch (column) {
        case ListColumn::Exact: return largest_first(figures.exact.n);
        case ListColumn::Growth: return largest_first(figures.growth.value_or(0));
        case ListColumn::Peak: return largest_first(bounds_of(process.tick.extremes).shown().n);
        case ListColumn::Lag: return largest_first(figures.lag.value_or(Pages{}).n);
        case ListColumn::Threads: return largest_first(process.tick.process.threads_count);
        case ListColumn::Updates: return largest_first(figures.updates.value_or(0));
        case ListColumn::Verdict: return severity(figures.verdict);
        case ListColumn::Pid: return pid;
        case ListColumn::User:
        case ListColumn::Command: break;
    }
    return std::nullopt;
}

/// A row before it has its place. Thousands are sorted for each frame, so it is small and has what it is sorted by.
struct Unplaced {
    int pid = 0;
    const Process *process = nullptr;
    double key = 0;
    std::string_view text;
};

Unplaced unplaced(int pid, const Process &process, ListColumn column) {
    if (const auto key = key_of(pid, process, column)) return {pid, &process, *key, {}};
    return {pid, &process, 0, column == ListColumn::User ? process.user : command_bytes(process)};
}

/// Sorts rows that are in the order of their PIDs.
std::vector<ListRow> sorted(std::vector<Unplaced> rows, bool reversed) {
    std::stable_sort(rows.begin(), rows.end(), [reversed](const Unplaced &a, const Unplaced &b) {
        const auto &[first, second] = reversed ? std::tie(b, a) : std::tie(a, b);
        return std::tie(first.key, first.text) < std::tie(second.key, second.text);
    });
    std::vector<ListRow> placed;
    placed.reserve(rows.size());
    for (const Unplaced &row : rows)
        placed.push_back({row.pid, row.process, ""});
    return placed;
}

bool matches(const Process &process, const std::string &filter) {
    if (filter.empty()) return true;
    const ProcessReading &reading = process.tick.process;
    return matches_filter(reading.comm, reading.pid, filter) ||
           matches_filter(command_bytes(process), reading.pid, filter) ||
           matches_filter(process.user, reading.pid, filter) || matches_filter(process.cgroup, reading.pid, filter);
}

/// Puts sorted rows into the order of a tree.
void make_tree(std::vector<ListRow> &rows, bool utf8) {
    std::vector<TreeNode> nodes;
    nodes.reserve(rows.size());
    for (const ListRow &row : rows)
        nodes.push_back({row.pid, row.process->tick.process.ppid});
    std::vector<ListRow> placed;
    placed.reserve(rows.size());
    for (TreeRow &at : tree_of(nodes, utf8)) {
        placed.push_back(std::move(rows[at.node]));
        placed.back().branch = std::move(at.branch);
    }
    rows = std::move(placed);
}

/// The growth since the latest sample that is at least `age` old. nullopt: no sample is older than the last one.
struct Since {
    Pages rss;
    std::uint64_t t_ns = 0;
    core::Mark mark = core::Mark::None;
};
std::optional<Since> sample_before(const std::deque<Sample> &history, std::uint64_t t_ns, std::uint64_t age) {
    const std::uint64_t from = t_ns - std::min(t_ns, age);
    const auto after = std::upper_bound(history.begin(), history.end(), from,
                                        [](std::uint64_t at, const Sample &sample) { return at < sample.t_ns; });
    const auto found = after == history.begin() ? after : std::prev(after);
    if (found == history.end() || found->t_ns >= t_ns) return std::nullopt;
    return Since{found->flushed.rss() + found->cached.rss(), found->t_ns, found->mark};
}

/// Sets the growth until `now_ns`, the time of the last sample or later.
void set_growth(ListFigures &figures, const Process &process, std::uint64_t now_ns) {
    constexpr double kNsPerS = 1e9;
    // With a short history, an mm that was born in the trace has grown from 0.
    const bool whole = !process.history.empty() && process.history.front().t_ns + kGrowthNs <= now_ns;
    const auto since = whole ? sample_before(process.history, now_ns, kGrowthNs) : std::nullopt;
    figures.grew = figures.exact - (since ? since->rss : process.tick.ledger.baseline.rss());
    // The baseline is as certain as the first sample.
    const auto first = process.history.empty() ? figures.mark : process.history.front().mark;
    figures.grew_mark = std::max(figures.mark, since ? since->mark : first);
    if (const auto start = sample_before(process.history, now_ns, kRateNs)) {
        figures.growth =
            static_cast<double>((figures.exact - start->rss).n) * kNsPerS / static_cast<double>(now_ns - start->t_ns);
        figures.growth_mark = std::max(figures.mark, start->mark);
    }
}

}  // namespace

std::string_view column_name(ListColumn column) {
    static constexpr std::array<std::string_view, kListColumns> kNames{"exact",   "growth",  "peak", "lag", "threads",
                                                                       "updates", "verdict", "user", "PID", "command"};
    return kNames[static_cast<std::size_t>(column)];
}

std::string command_of(const Process &process, bool utf8) {
    return core::printable(command_bytes(process), utf8);
}

ListFigures list_figures(const Process &process, const Tick *before) {
    constexpr double kNsPerS = 1e9;
    const Tick &tick = process.tick;
    const core::ReadingFigures read = figures_of(tick);
    ListFigures figures;
    figures.flushed = read.flushed;
    figures.cached = read.cached;
    figures.exact = process.ended ? Pages{} : read.exact.rss();
    figures.stat = read.readers.stat;
    figures.lag = read.lag;
    figures.mark = mark(tick, read);
    figures.verdict = read.verdict;
    figures.mm = tick.ledger.generation;
    figures.resyncs = tick.ledger.resyncs;
    set_growth(figures, process, tick.t_ns);
    if (before != nullptr && tick.t_ns > before->t_ns) {
        const auto updates = [](const Tick &of) { return of.ledger.updates + of.ledger.updates_by_others; };
        figures.updates = static_cast<double>(updates(tick) - std::min(updates(tick), updates(*before))) * kNsPerS /
                          static_cast<double>(tick.t_ns - before->t_ns);
        figures.updates_lost = tick.lost > before->lost;
    }
    return figures;
}

void rest_figures(Process &process, std::uint64_t now_ns) {
    set_growth(process.figures, process, now_ns);
    process.figures.updates = 0;
    process.figures.updates_lost = false;
    process.rests = !process.history.empty() && process.history.back().t_ns + kGrowthNs <= now_ns;
}

Sample sums_of(const Overview &all) {
    Sample sums;
    sums.t_ns = all.latest.t_ns;
    std::unordered_set<std::uint64_t> seen;
    seen.reserve(all.processes.size());
    for (const auto &[pid, process] : all.processes) {
        if (process.ended || !seen.insert(process.figures.mm).second) continue;
        sums.flushed += process.figures.flushed;
        sums.cached += process.figures.cached;
        sums.mark = std::max(
            {sums.mark, process.figures.mark, process.tick.needs_resync ? core::Mark::AfterLoss : core::Mark::None});
    }
    return sums;
}

ListRows list_rows(const LiveState &state) {
    const ListChoices &choices = state.choices;
    // Ended processes hold nothing any more.
    const ListColumn of_ended = choices.sort == ListColumn::Exact ? ListColumn::Peak : choices.sort;
    ListRows out;
    std::vector<Unplaced> running, ended;
    for (const auto &[pid, process] : state.shown_all().processes) {
        (process.ended ? out.ended : out.total)++;
        if (!matches(process, choices.filter)) continue;
        if (!process.ended) running.push_back(unplaced(pid, process, choices.sort));
        if (process.ended && choices.ended) ended.push_back(unplaced(pid, process, of_ended));
    }
    out.ended += state.shown_all().left_out;
    out.running = running.size();
    out.rows = sorted(std::move(running), choices.reversed);
    if (choices.shape == Shape::Parents) make_tree(out.rows, state.style.utf8);
    if (choices.shape == Shape::Cgroups)
        out.rows = grouped(out.rows, [](const ListRow &row) -> std::string_view { return row.process->cgroup; });
    if (out.ended > 0) out.rows.push_back({});
    for (ListRow &row : sorted(std::move(ended), choices.reversed))
        out.rows.push_back(std::move(row));
    const auto selected =
        std::find_if(out.rows.begin(), out.rows.end(), [&](const ListRow &row) { return row.pid == choices.selected; });
    if (selected != out.rows.end()) out.selected = static_cast<std::size_t>(selected - out.rows.begin());
    return out;
}

}  // namespace rsslag::screen
