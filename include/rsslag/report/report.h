// SPDX-License-Identifier: BSD-2-Clause
// What a whole recording comes to. Pure: rows in; a model, text, JSON, SVG and the verdict on assertions out.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/core/assertion.h"
#include "rsslag/core/result.h"
#include "rsslag/core/sentence.h"
#include "rsslag/sinks/growth.h"
#include "rsslag/sinks/row.h"

namespace rsslag::report {

/// The most that the counters alone did not show at one instant, by the records.
struct PeakLag {
    core::Pages pages;
    std::uint64_t t_ns = 0;
    int pid = 0;
    std::string comm;
    core::Pages rss;           ///< exact, then
    bool approximate = false;  ///< records had been lost
};

/// What a task did to an mm: at its end, or as the last tick has it.
struct ReportThread {
    int tid = 0, tgid = 0, host_tid = 0;
    std::uint64_t mm = 0;
    std::string comm;
    core::Members net;
    core::Pages uncertain;  ///< the truth is that far from `net` at most, all members taken together
    bool ended = false;
    bool other = false;  ///< it did not live in the mm
    std::uint64_t updates = 0, faults = 0, flushes = 0;
    std::optional<core::Pages> peak_cached;  ///< RSS members, of the ticks; `thread` scheme
    std::uint64_t peak_cached_t_ns = 0;
};

/// An mm that a process had, as its last tick there has it. final = baseline + the nets of its threads and of tasks of
/// others + exited + remainder, by member.
struct MmReport {
    std::uint64_t mm = 0;
    core::Members baseline, final;
    std::uint64_t updates = 0;  ///< of its own tasks
    std::uint64_t updates_by_others = 0;
    core::ExitedNet exited;  ///< of threads that have ended: those that are not listed, and its teardown
    core::Members teardown;  ///< … of that, what went as it was torn down
    core::Pages teardown_uncertain;
    std::uint64_t teardown_updates = 0;
    std::uint64_t ended = 0;  ///< threads that have ended, listed ones too
    core::Members others;     ///< net of tasks of other processes
    core::Members remainder;  ///< nobody's: 0 but for a fault
    std::uint64_t resyncs = 0;
    bool needs_resync = false;  ///< records were lost, and no reading came after that
};

/// A moment of a process. Of several that are too close to be kept apart, the one with the largest lag stands.
struct LagPoint {
    std::uint64_t t_ns = 0;
    std::optional<core::Pages> lag, reported;
    core::Pages exact, cached;
    std::optional<core::Pages> walked;
    bool needs_resync = false;  ///< records had been lost just before
};

/// What a process held while a piece of time passed, of every record in it.
struct CourseSpan {
    std::uint64_t t_ns = 0;   ///< of the first
    core::Pages least, most;  ///< rss
    core::Pages lag;          ///< the most
    core::Held last;
};

/// Pages that came, less those that went, at page faults in a range of addresses.
struct Growth {
    std::uint64_t from = 0, to = 0;  ///< to: the first address behind it
    core::Pages pages;
    std::uint64_t updates = 0;
};

struct ResidualStatistics {
    std::optional<core::Pages> min, max;  ///< nullopt: nothing was walked
    std::uint64_t nonzero = 0, walks = 0;
};

/// A process from its first row to its end; its program's end and beginning at an exec included. What a fork held
/// before its first exec is one by itself (extremes.image is 0).
struct ReportProcess {
    int pid = 0;
    std::string comm;
    core::State state = core::State::Running;
    std::optional<PeakLag> peak_lag;
    core::Extremes extremes;
    core::Members baseline, final;  ///< of the last mm that it had
    core::Members begin;            ///< … as its exec was done, its process was born, or it was first read
    core::Members last;             ///< … and before its teardown, where it has ended
    /// Records were lost, as of core::Summary::Process.
    bool begin_in_doubt = false, baseline_in_doubt = false, final_in_doubt = false;
    std::int64_t most_tasks = 0;  ///< that lived in its mm at a tick
    std::uint64_t ticks = 0;
    std::map<std::string, std::uint64_t> verdicts;
    ResidualStatistics residual;
    std::vector<ReportThread> threads;       ///< of all its mms, largest peak first, then most changed
    std::vector<ReportThread> other_tasks;   ///< of other processes, that changed one of them; likewise
    std::vector<MmReport> mms;               ///< that it had, in order; several where it has run several programs
    MmReport sum;                            ///< of all of them; `mm` is the last one's
    std::vector<LagPoint> points;            ///< ascending in time
    std::vector<CourseSpan> course;          ///< likewise
    std::vector<Growth> growth;              ///< largest first
    std::vector<sinks::ImageGrowth> images;  ///< by name, of each program that it has run, in order
};

struct Report {
    sinks::Facts facts;
    sinks::Ending ending;
    std::map<std::string, std::uint64_t> rows;  ///< by type, all
    std::uint64_t records = 0;                  ///< rows that the probe sent: without readings, walks, losses, ticks
    std::optional<PeakLag> peak_lag;
    std::vector<ReportProcess> processes;  ///< in the order in which they were first told of
    std::uint64_t left_out = 0;            ///< programs that are not among these, none of which is foremost in anything
    bool names = false;                    ///< mappings are told of: growth has names

    /// Whether counts may lack something: records were lost, or are not here.
    bool lossy() const { return ending.lost > 0 || !ending.complete; }
    std::uint64_t row_count() const;
};

/// rsslag.report/2 as docs/schema/report.schema.json has it, one line, with a newline.
std::string report_json(const Report &report);

/// How text for people looks.
struct ReportStyle {
    bool utf8 = true;
    core::PagesText pages = core::as_kb;
    std::size_t threads = 10;  ///< listed of each process
};
std::string report_text(const Report &report, const ReportStyle &style);

/// A picture with nothing outside it: what stat reported, exact and cached over time, one panel a process.
std::string report_svg(const Report &report);

/// One page with nothing outside it, to be sent and opened in any browser: figures, each process's course by its
/// records with a chart to zoom into, its threads and what grew. Under 2 MB: of very many processes, threads or names
/// the largest are in it, and the number of the rest.
std::string report_html(const Report &report);

/// rsslag.report-diff/2: both, and the second less the first.
std::string diff_json(const Report &before, const Report &after);
std::string diff_text(const Report &before, const Report &after, const ReportStyle &style);

/// One comparison of --assert.
struct Claim {
    std::string text;  ///< as typed
    std::string name;
    core::Assertion::Relation relation = core::Assertion::Relation::Less;
    double limit = 0;  ///< bytes, seconds or a count, as the name has it
};

/// What came of it.
struct ClaimResult {
    Claim claim;
    std::optional<double> value;  ///< nullopt: not known; then it does not hold
    bool holds = false;
    std::string text;  ///< "peak_lag is 24,288 kB, not < 1MiB"
};

/// CLAIM { and CLAIM }; CLAIM is NAME < | <= | > | >= | == NUMBER [UNIT]. Sizes take B, kB, MiB, GiB, times ms, s, m,
/// h; counts take none. Kind::BadInput with the position of what is wrong, counted from 1.
core::Result<std::vector<Claim>> parse_claims(std::string_view text);
/// Names that a claim may have, with commas.
std::string claim_names();
std::vector<ClaimResult> evaluate(const std::vector<Claim> &claims, const Report &report);

}  // namespace rsslag::report
