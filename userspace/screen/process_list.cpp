// SPDX-License-Identifier: BSD-2-Clause
#include "process_list.h"

#include <algorithm>
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

/// Descending for sizes and rates, ascending for names and numbers.
bool before(const ListRow &a, const ListRow &b, ListColumn column) {
    const Process &p = *a.process;
    const Process &q = *b.process;
    switch (column) {
        case ListColumn::Exact: return p.figures.exact > q.figures.exact;
        case ListColumn::Growth: return p.figures.growth.value_or(0) > q.figures.growth.value_or(0);
        case ListColumn::Peak: return bounds_of(p.tick.extremes).shown() > bounds_of(q.tick.extremes).shown();
        case ListColumn::Lag: return p.figures.lag.value_or(Pages{}) > q.figures.lag.value_or(Pages{});
        case ListColumn::Threads: return p.tick.process.threads_count > q.tick.process.threads_count;
        case ListColumn::Updates: return p.figures.updates.value_or(0) > q.figures.updates.value_or(0);
        case ListColumn::Verdict: return severity(p.figures.verdict) < severity(q.figures.verdict);
        case ListColumn::User: return p.user < q.user;
        case ListColumn::Pid: return a.pid < b.pid;
        case ListColumn::Command: break;
    }
    return command_bytes(p) < command_bytes(q);
}

/// Sorts rows that are in the order of their PIDs.
void sort_rows(std::vector<ListRow> &rows, const ListChoices &choices) {
    std::stable_sort(rows.begin(), rows.end(), [&choices](const ListRow &a, const ListRow &b) {
        return choices.reversed ? before(b, a, choices.sort) : before(a, b, choices.sort);
    });
}

bool matches(const Process &process, const std::string &filter) {
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
}

Sample sums_of(const Overview &all) {
    Sample sums;
    sums.t_ns = all.latest.t_ns;
    std::unordered_set<std::uint64_t> seen;
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
    ListRows out;
    std::vector<ListRow> ended;
    for (const auto &[pid, process] : state.shown_all().processes) {
        (process.ended ? out.ended : out.total)++;
        if (matches(process, choices.filter)) (process.ended ? ended : out.rows).push_back({pid, &process, ""});
    }
    out.ended += state.shown_all().left_out;
    out.running = out.rows.size();
    sort_rows(out.rows, choices);
    if (choices.shape == Shape::Parents) make_tree(out.rows, state.style.utf8);
    if (choices.shape == Shape::Cgroups)
        out.rows = grouped(out.rows, [](const ListRow &row) -> std::string_view { return row.process->cgroup; });
    if (out.ended > 0) out.rows.push_back({});
    if (choices.ended) {
        ListChoices of_ended = choices;
        // They hold nothing any more.
        if (choices.sort == ListColumn::Exact) of_ended.sort = ListColumn::Peak;
        sort_rows(ended, of_ended);
        out.rows.insert(out.rows.end(), std::make_move_iterator(ended.begin()), std::make_move_iterator(ended.end()));
    }
    const auto selected =
        std::find_if(out.rows.begin(), out.rows.end(), [&](const ListRow &row) { return row.pid == choices.selected; });
    if (selected != out.rows.end()) out.selected = static_cast<std::size_t>(selected - out.rows.begin());
    return out;
}

}  // namespace rsslag::screen
