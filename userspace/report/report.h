// SPDX-License-Identifier: BSD-2-Clause
// The report of a recording: computed from its rows, printed as text, JSON, SVG and HTML, and checked by assertions.
// Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/assertion.h"
#include "core/course.h"
#include "core/result.h"
#include "core/sentence.h"
#include "exporters/growth.h"
#include "exporters/row.h"
#include "exporters/sink.h"
#include "profile/profile.h"

namespace rsslag::report {

/// The largest core::lag() at any instant, computed from records.
struct PeakLag {
    core::Pages pages;
    std::uint64_t t_ns = 0;
    int pid = 0;
    std::string comm;
    core::Pages rss;           ///< exact, at that instant
    bool approximate = false;  ///< core::Extremes::approximate()
    bool lossy = false;        ///< records were lost before
    bool read_late = false;    ///< `lossy` only because updates came before the first reading
};

/// The changes that a task made to an mm, as of the task's end or the last tick.
struct ReportThread {
    int tid = 0, tgid = 0, host_tid = 0;
    std::uint64_t mm = 0;
    std::string comm;
    core::Members net;
    core::Pages uncertain;  ///< upper bound of the error of `net`, all members together
    bool ended = false;
    bool other = false;  ///< the task belongs to another mm
    std::uint64_t updates = 0, faults = 0, flushes = 0;
    std::optional<core::Pages> peak_cached;  ///< file + anon + shmem, the maximum over the ticks; `thread` scheme
    std::uint64_t peak_cached_t_ns = 0;
};

/// An mm of a process, as of the process's last tick in it. final = baseline + nets of its threads and of other tasks +
/// exited + ended_others + remainder, by member.
struct MmReport {
    std::uint64_t mm = 0;
    core::Members baseline, final;
    std::uint64_t updates = 0;  ///< of its own tasks
    std::uint64_t updates_by_others = 0;
    core::ExitedNet exited;        ///< of ended threads that are not listed, and the teardown
    core::ExitedNet ended_others;  ///< of ended tasks of other mms that are not listed; part of `others`
    core::Members teardown;        ///< part of `exited`: the change during the teardown
    core::Pages teardown_uncertain;
    std::uint64_t teardown_updates = 0;
    std::uint64_t teardown_flushes = 0;
    std::uint64_t ended = 0;  ///< number of ended threads, including listed ones
    core::Members others;     ///< sum of the nets of tasks of other mms
    core::Members remainder;  ///< MmView::remainder: not 0 only after an error
    std::uint64_t resyncs = 0;
    bool needs_resync = false;  ///< records were lost, and there was no reading after that
};

/// A point of the chart of a process. If points are too close to be drawn separately, the one with the largest lag is
/// kept.
struct LagPoint {
    std::uint64_t t_ns = 0;
    std::optional<core::Pages> lag, reported;
    core::Pages exact, cached;
    std::optional<core::Pages> walked;
    bool needs_resync = false;  ///< records were lost before, and there was no resync yet
};

/// Pages that came minus pages that went, at page faults in a range of addresses.
struct Growth {
    std::uint64_t from = 0, to = 0;  ///< `to` is exclusive
    core::Pages pages;
    std::uint64_t updates = 0;
};

struct ResidualStatistics {
    std::optional<core::Pages> min, max;  ///< nullopt: no walk
    std::uint64_t nonzero = 0, walks = 0;
};

/// A process from its first row to its end, across all of its execs. What a fork held before its first exec is a
/// separate entry (extremes.image is 0).
struct ReportProcess {
    int pid = 0;
    std::string comm;
    core::State state = core::State::Running;
    std::optional<PeakLag> peak_lag;
    core::Extremes extremes;
    core::Members baseline, final;  ///< of its last mm
    /// Exact in its last mm at the end of the exec, when the process was born, or when it was first read.
    core::Members at_start;
    core::Members last;  ///< exact in its last mm, before the teardown if it has ended
    /// Records were lost; see core::Summary::Process.
    bool start_approximate = false, baseline_approximate = false, final_approximate = false;
    std::int64_t most_tasks = 0;  ///< the largest number of tasks in its mm at any tick
    std::uint64_t ticks = 0;
    std::map<std::string, std::uint64_t> verdicts;
    ResidualStatistics residual;
    std::vector<ReportThread> threads;      ///< of all its mms, by largest peak, then by largest change
    std::vector<ReportThread> other_tasks;  ///< of other processes that changed one of its mms; in the same order
    std::vector<MmReport> mms;              ///< in order; several if it has run several programs
    MmReport sum;                           ///< over all mms; its `mm` is that of the last one
    std::vector<LagPoint> points;           ///< ascending in time
    std::vector<core::CourseSpan> course;   ///< ascending in time
    std::vector<Growth> growth;             ///< largest first
    std::vector<exporters::ImageGrowth>
        images;  ///< growth by name of mapping, of each program that it has run, in order
};

/// Of the processes that have ended, a report keeps those with the largest lag, and those with the largest value of
/// another figure.
inline constexpr std::size_t kMostEndedProcesses = 2000;

struct Report {
    exporters::Facts facts;
    exporters::Ending ending;
    std::map<std::string, std::uint64_t> rows;  ///< number of rows of each type
    /// The number of rows of records of the BPF programs. Readings, walks, mappings, losses and ticks do not count.
    std::uint64_t records = 0;
    std::optional<PeakLag> peak_lag;
    std::vector<ReportProcess> processes;  ///< in the order of their first rows
    /// The number of programs that are not in `processes`, since none of them has the largest value of any figure.
    std::uint64_t left_out = 0;
    std::uint64_t left_out_processes = 0;                    ///< the entries that `processes` would have for them
    std::uint64_t left_out_unwalked = 0;                     ///< those that were never walked
    std::map<std::string, std::uint64_t> left_out_verdicts;  ///< of all their ticks
    bool cut_off = false;                                    ///< the trace of a command ended before the command
    profile::Profile stacks;
    bool names = false;  ///< the recording contains mappings, so growth has their names

    /// Whether counts and peaks may be too low: records were lost, are in earlier segments, or came before a first
    /// reading.
    bool lossy() const { return cut_off || ending.at_least() || !ending.complete || facts.segment > 0; }
    std::uint64_t row_count() const;
};

/// rsslag.report/2, see docs/schema/report.schema.json: one line with a newline, written in pieces. Returns the first
/// error of `write`.
core::Status report_json(const Report &report, const exporters::Write &write);

/// Options of text output.
struct ReportStyle {
    bool utf8 = true;
    core::PagesText pages = core::as_kb;
    std::size_t processes = 10;  ///< the limit of listed processes: those with the largest peak
    std::size_t threads = 10;    ///< the limit of listed threads of each process
};
std::string report_text(const Report &report, const ReportStyle &style);

/// A self-contained SVG: stat, exact and cached over time, one panel per process.
std::string report_svg(const Report &report);

/// A self-contained HTML page: figures, a zoomable chart of each process, its threads and its growth. It is smaller
/// than 2 MB: if there are very many processes, threads or names, it contains the largest ones and the number of the
/// others.
std::string report_html(const Report &report);

/// rsslag.report-diff/2: both reports, and the second minus the first.
std::string diff_json(const Report &before, const Report &after);
std::string diff_text(const Report &before, const Report &after, const ReportStyle &style);

/// The result of a comparison of --assert.
struct ClaimResult {
    core::Assertion claim;
    std::optional<double> value;  ///< nullopt: unknown, and then the claim does not hold
    bool holds = false;
    std::string text;  ///< e.g. "peak_lag 24,288 kB >= 1 MiB, by 23,264 kB"
};

/// core::parse_assertions() for the figures of a report.
core::Result<std::vector<core::Assertion>> parse_claims(std::string_view text);
/// All valid names, separated by commas.
std::string claim_names();
std::vector<ClaimResult> evaluate(const std::vector<core::Assertion> &claims, const Report &report);

}  // namespace rsslag::report
