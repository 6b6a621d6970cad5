// SPDX-License-Identifier: BSD-2-Clause
// The first three lines: the reported RSS, the exact RSS and where the rest is cached, and the verdict.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/text.h"
#include "documents/text_parts.h"
#include "live_state.h"

namespace rsslag::screen {
namespace {

using core::Pages;
using core::Truth;

/// Programs and files that show the same as stat (long and short form), and those that are exact.
struct OtherReaders {
    const char *shown, *shown_shortly, *exact;
};

OtherReaders other_readers(const core::Calibration &calibration) {
    const bool statm = calibration.statm == Truth::Flushed;
    const bool status = calibration.status == Truth::Flushed;
    if (statm && status) return {"ps, top and htop show", "ps, top, htop show", ""};
    if (status && calibration.statm == Truth::Exact)
        return {"ps and stat say", "ps says", "  top and htop are exact here."};
    if (statm && calibration.status == Truth::Exact)
        return {"top, htop and stat say", "top says", "  ps is exact here."};
    if (calibration.statm == Truth::Exact && calibration.status == Truth::Exact) {
        return {"stat says", "stat says", "  ps, top and htop are exact here."};
    }
    return {"stat says", "stat says", ""};
}

std::string up_for(const LiveState &state, const Tick &tick) {
    // In floating point, since times of a malformed recording may be of any size.
    using Seconds = std::chrono::duration<double>;
    const double ticks = static_cast<double>(tick.process.start_ticks) / static_cast<double>(state.facts.clock_ticks);
    const double seconds =
        Seconds(tick.time.time_since_epoch()).count() - Seconds(state.facts.boot.time_since_epoch()).count() - ticks;
    constexpr double kMost = 1e12;
    if (!(seconds >= 0 && seconds < kMost) || tick.process.start_ticks == 0) return "";
    const auto age = static_cast<std::int64_t>(seconds);
    if (age >= 86'400) return fmt::format("up {}d {}h", age / 86'400, age / 3600 % 24);
    return fmt::format("up {}:{:02}:{:02}", age / 3600, age / 60 % 60, age % 60);
}

void draw_title(Grid &grid, const LiveState &state, const Process &process) {
    const Tick &tick = process.tick;
    const int width = grid.size().columns;
    constexpr int kName = 32;
    std::string name = core::printable(tick.process.comm, state.style.utf8);
    while (cells(name) > kName && !name.empty())
        name.pop_back();
    std::string who = fmt::format(" rsslag  {} [{}]", name, tick.process.pid);
    const Overview &all = state.past ? *state.past : state.all;
    if (all.processes.size() > 1) {
        const auto rank = std::distance(all.processes.begin(), all.processes.find(tick.process.pid)) + 1;
        const std::string more = all.left_out == 0 ? "" : fmt::format(", {} more ended", thousands(all.left_out));
        who += fmt::format("  {} of {}{} (Esc: list)", rank, all.processes.size(), more);
    }
    const auto count = static_cast<std::uint64_t>(tick.process.threads_count);
    std::string scheme = fmt::format("scheme {}", core::name(tick.scheme));
    const bool wide = cpus_cache(tick) && width >= 130;
    if (wide) {
        scheme += fmt::format(": {} CPUs, batch {}", state.facts.machine.cpus_online,
                              state.facts.machine.batch().value_or(0));
    }
    std::vector<Part> left{
        {0, who}, {3, fmt::format("{} thread{}", thousands(count), count == 1 ? "" : "s")}, {6, up_for(state, tick)}};
    std::vector<Part> right{
        {5, "Linux " + core::printable(state.facts.kernel, state.style.utf8)},
        {2, scheme},
        {1, (state.recording ? "REC  " : "") + pace_text(state, process.ended.has_value(), state.frozen.has_value())},
        {4, local_clock(tick.time)}};
    draw_title_row(grid, left, right);
}

/// The number of threads or CPUs that cache a part of RSS.
std::size_t cachers(const Tick &tick) {
    if (cpus_cache(tick)) {
        return static_cast<std::size_t>(
            std::count_if(tick.ledger.cpus.begin(), tick.ledger.cpus.end(),
                          [&](const core::CpuNet &cpu) { return core::caches_rss(cpu.cached); }));
    }
    return static_cast<std::size_t>(
        std::count_if(tick.ledger.tasks.begin(), tick.ledger.tasks.end(),
                      [&](const core::TaskNet &task) { return task.cached && core::caches_rss(*task.cached); }));
}

/// The sentence in pieces, to fit narrow screens too.
struct Pieces {
    std::string shown, shown_shortly, holds, hidden, hidden_shortly, hidden_tersely, exact;
};

Pieces pieces_of(const Process &process, const core::ReadingFigures &figures, const TextStyle &style) {
    const Tick &tick = process.tick;
    const auto text = [&](Pages pages) { return amount(pages, tick.page_size, style); };
    const std::string_view how = sign(mark(tick, figures));
    Pieces pieces;
    pieces.holds = fmt::format("It holds {}{}.", how, text(figures.exact.rss()));
    // No tick has shown it running, and after its teardown it holds nothing.
    if (tick.state != core::State::Running)
        pieces.holds = fmt::format("It held {}{} at its end.", how, text(tick.ledger.last.rss()));
    if (!figures.readers.stat || !figures.lag || !figures.behind) return pieces;
    const OtherReaders others = other_readers(tick.calibration);
    const std::string shown = text(*figures.readers.stat);
    pieces.shown = fmt::format("{} {}.", others.shown, shown);
    pieces.shown_shortly = fmt::format("{} {}.", others.shown_shortly, shown);
    const std::size_t count = cachers(tick);
    const std::string_view unit = cpus_cache(tick) ? "CPU" : "thread";
    const std::string where = fmt::format("{} {}{}", thousands(count), unit, count == 1 ? "" : "s");
    const Pages lag = *figures.lag;
    pieces.hidden_tersely = fmt::format("{}{} in {}.", how, text(lag), where);
    if (tick.process.leader_gone && figures.readers.stat->n == 0) {
        // stat, statm and status of a main thread that has ended show no memory.
        pieces.shown = fmt::format("ps, top and htop show {}.", shown);
        pieces.shown_shortly = fmt::format("ps, top, htop show {}.", shown);
        pieces.hidden_shortly = "Its main thread has ended, so that its files show no memory.";
        pieces.hidden = pieces.hidden_shortly;
        if (lag.n > 0) pieces.hidden += fmt::format("  {}{} is cached in {}.", how, text(lag), where);
        return pieces;
    }
    pieces.exact = lag.n == 0 ? "" : others.exact;
    const Pages since = how.empty() ? Pages{} : *figures.behind - lag;  // change between the two readings
    if (lag.n == 0) {
        pieces.hidden = count == 0 ? "Nothing is cached." : fmt::format("The amounts cached in {} add up to 0.", where);
        pieces.hidden_shortly = count == 0 ? pieces.hidden : pieces.hidden_tersely;
    } else if (lag.n < 0) {
        pieces.hidden = fmt::format("stat is {}{} too high: the removal is cached in {}.", how, text(-lag), where);
        pieces.hidden_shortly = pieces.hidden_tersely;
    } else {
        const double percent = figures.exact.rss().n == 0
                                   ? 0.0
                                   : 100.0 * static_cast<double>(lag.n) / static_cast<double>(figures.exact.rss().n);
        const std::string part = fmt::format("{}{} ({:.1f} %) is cached in {}", how, text(lag), percent, where);
        pieces.hidden_shortly = part + ".";
        pieces.hidden = since.n == 0 ? part + ", not yet flushed."
                                     : fmt::format("{}, {} {} since stat was read.", part,
                                                   text(Pages{std::abs(since.n)}), since.n > 0 ? "came" : "went");
    }
    return pieces;
}

std::string why_unwalked(const LiveState &state, const Process &process, const core::ReadingFigures &figures) {
    const bool walked = std::any_of(process.history.begin(), process.history.end(),
                                    [](const Sample &sample) { return sample.walked.has_value(); });
    switch (figures.walk_state) {
        case core::WalkState::Denied: return "smaps may not be read";
        case core::WalkState::Unsupported: return "this kernel has no smaps";
        case core::WalkState::Gone: return "it ended before its smaps could be read";
        default: break;
    }
    if (!state.facts.walks) return "--no-walk";
    return walked ? "it has changed since smaps was walked" : "no smaps walk yet";
}

/// The verdict with its evidence.
std::string verdict_long(const LiveState &state, const Process &process, const core::ReadingFigures &figures) {
    const Tick &tick = process.tick;
    const auto text = [&](Pages pages) { return amount(pages, tick.page_size, state.style); };
    const std::string walked = figures.walk ? text(tick.page_size.pages(figures.walk->rss)) : "";
    const std::string old = tick.stale_walk && figures.walk
                                ? fmt::format(" @{:.1f}s", static_cast<double>(tick.process.walk_age_ms) / 1000.0)
                                : "";
    switch (figures.verdict) {
        case core::Verdict::Agrees: return fmt::format("AGREES with smaps{}, residual 0 pages", old);
        case core::Verdict::Explained: {
            std::string causes;
            for (const core::ResidualCause &cause : figures.causes)
                causes +=
                    fmt::format("{}{} {}", causes.empty() ? "" : ", ", core::name(cause.cause), text(cause.pages));
            return fmt::format("EXPLAINED: smaps shows {}{}; the difference is explained by {}", walked, old, causes);
        }
        case core::Verdict::Moving:
            if (tick.needs_resync) return "MOVING: records were lost; uncertain until the resync";
            if (!figures.walk) return "MOVING: it changes while it is read";
            if (figures.residual && figures.residual->n == 0) {
                return fmt::format("MOVING, inside its window: smaps shows {}, exact was {} to {}", walked,
                                   text(figures.window.min), text(figures.window.max));
            }
            if (figures.residual) {
                return fmt::format("MOVING: smaps shows {}, {} outside the window", walked, text(*figures.residual));
            }
            return "MOVING: it has changed since smaps was walked";
        case core::Verdict::Unexplained:
            return fmt::format("UNEXPLAINED: smaps shows {}{}; the difference is {}", walked, old,
                               text(figures.residual.value_or(Pages{})));
        case core::Verdict::Unwalked: break;
    }
    return "UNWALKED: " + why_unwalked(state, process, figures);
}

std::string verdict_short(const Process &process, const core::ReadingFigures &figures) {
    std::string text = upper(core::name(figures.verdict));
    if (figures.verdict == core::Verdict::Agrees) text += " with smaps";
    if (process.tick.stale_walk && figures.walk)
        text += fmt::format(" @{:.1f}s", static_cast<double>(process.tick.process.walk_age_ms) / 1000.0);
    return text;
}

std::string end_text(const LiveState &state, const Process &process) {
    if (*process.ended == core::State::Exec) return "EXEC: another program replaced it";
    if (state.has_command && state.command.status)
        return fmt::format("EXITED, status {}; these are the last values read", *state.command.status);
    return "EXITED; these are the last values read";
}

std::string bound_text(const Process &process, const core::ReadingFigures &figures, const TextStyle &style) {
    if (!figures.bound || figures.bound->rss.n <= 0) return "";
    const double part = 100.0 * static_cast<double>(figures.cached.rss().n) / static_cast<double>(figures.bound->rss.n);
    const std::string most = amount(figures.bound->rss, process.tick.page_size, style);
    return fmt::format("cached is {:.0f} % of the {}, {}", part, figures.bound->hard ? "bound" : "soft bound", most);
}

/// Other processes with the same mm: its memory is also theirs.
std::string one_memory_with(const ProcessReading &process) {
    constexpr std::size_t kMost = 3;
    std::string text;
    std::size_t others = 0;
    for (const int pid : process.mm_pids) {
        if (pid != process.pid && others++ < kMost) text += fmt::format("{} {}", others == 1 ? "" : ",", pid);
    }
    if (others == 0) return "";
    return " one memory with" + text + (others > kMost ? fmt::format(" and {} more", thousands(others - kMost)) : "");
}

Look look_of(const Process &process, core::Verdict verdict) {
    if (process.ended) return Look::Bold;
    switch (verdict) {
        case core::Verdict::Agrees:
        case core::Verdict::Explained: return Look::Good;
        case core::Verdict::Unexplained: return Look::Bad;
        case core::Verdict::Moving:
        case core::Verdict::Unwalked: break;
    }
    return Look::Uncertain;
}

/// The first candidate that fits, else the last one, which put() then cuts.
std::string first_that_fits(const std::vector<std::string> &candidates, int width) {
    for (const std::string &candidate : candidates) {
        if (cells(candidate) <= width) return candidate;
    }
    return candidates.back();
}

}  // namespace

void draw_title_row(Grid &grid, std::vector<Part> left, std::vector<Part> right) {
    constexpr int kUnlimited = 10'000;
    const int width = grid.size().columns;
    const auto length = [&] { return cells(fitting(left, kUnlimited)) + cells(fitting(right, kUnlimited)) + 2; };
    for (int worst = 6; worst > 0 && length() > width - 1; --worst) {
        std::erase_if(left, [worst](const Part &part) { return part.drop_order == worst; });
        std::erase_if(right, [worst](const Part &part) { return part.drop_order == worst; });
    }
    grid.fill(0, 0, width, U' ', Look::Heading);
    grid.put_right(0, width - 1, fitting(right, width), Look::Heading);
    grid.put(0, 0, fitting(left, width), Look::Heading);
}

void draw_head(Grid &grid, const LiveState &state, const Process &process) {
    draw_title(grid, state, process);
    const Tick &tick = process.tick;
    const int width = grid.size().columns - 1;
    const core::ReadingFigures figures = figures_of(tick);
    const Pieces pieces = pieces_of(process, figures, state.style);
    const std::string lost = fmt::format(
        "lost {}{}", sign(tick.needs_resync ? core::Mark::AfterLoss : core::Mark::None), thousands(tick.lost));
    const std::string resyncs = "resyncs " + thousands(tick.ledger.resyncs);
    const std::string verdict = process.ended ? end_text(state, process) : verdict_long(state, process, figures);
    const std::string briefly = process.ended ? std::string("EXITED") : verdict_short(process, figures);
    const auto sentence = [](const std::vector<std::string> &parts) {
        std::string text;
        for (const std::string &part : parts) {
            if (!part.empty()) text += (text.empty() ? " " : "  ") + part;
        }
        return text;
    };
    const std::string whole = first_that_fits({sentence({pieces.shown, pieces.holds, pieces.hidden}),
                                               sentence({pieces.shown, pieces.holds, pieces.hidden_shortly})},
                                              width);
    if (cells(whole) <= width) {
        const std::string with_exact = whole + pieces.exact;
        grid.put(1, 0, cells(with_exact) <= width ? with_exact : whole, Look::Bold);
        const std::string third = fitting(
            {{0, " " + verdict},
             {0, " " + lost},
             {1, " " + resyncs},
             {2, one_memory_with(tick.process)},
             {2, tick.ledger.disagreements == 0 ? "" : " disagreements " + thousands(tick.ledger.disagreements)},
             {3, " " + bound_text(process, figures, state.style)}},
            width);
        grid.put(2, 0, first_that_fits({third, sentence({briefly, lost, resyncs})}, width));
        grid.mark(2, 1, 1 + std::max(cells(verdict.substr(0, verdict.find_first_of(",: "))), 1),
                  look_of(process, figures.verdict));
        return;
    }
    grid.put(
        1, 0,
        first_that_fits({sentence({pieces.shown, pieces.holds}) + pieces.exact, sentence({pieces.shown, pieces.holds}),
                         sentence({pieces.shown_shortly, pieces.holds}), sentence({pieces.holds})},
                        width),
        Look::Bold);
    grid.put(2, 0,
             first_that_fits({sentence({pieces.hidden, briefly + ".", lost, resyncs}),
                              sentence({pieces.hidden, briefly + ".", lost}),
                              sentence({pieces.hidden_shortly, briefly + ".", lost}),
                              sentence({pieces.hidden_shortly, upper(core::name(figures.verdict)), lost}),
                              sentence({pieces.hidden_tersely, upper(core::name(figures.verdict)), lost}),
                              sentence({upper(core::name(figures.verdict)), lost}), " " + lost},
                             width),
             Look::Bold);
}

}  // namespace rsslag::screen
