// SPDX-License-Identifier: BSD-2-Clause
#include "metrics/exposition.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <sstream>
#include <utility>

#include "core/member_name.h"
#include "core/text.h"
#include "rsslag/metric_help.h"

namespace rsslag::metrics {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Labels;
using prometheus::MetricFamily;

constexpr std::string_view kTotal = "_total";
constexpr const char *kUndivided = "undivided";

Family<Gauge> &gauge(prometheus::Registry &registry, const char *name, const char *help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

Family<Counter> &counter(prometheus::Registry &registry, const char *name, const char *help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

/// Adds to the series with these labels, which begins at 0.
template <class Metric>
void add(Family<Metric> &family, const Labels &labels, double value) {
    family.Add(labels).Increment(value);
}

/// The series of one reading. They are in a registry of their own, so that no series of an earlier reading is left in
/// it.
class Reading {
  public:
    explicit Reading(const Exposition &exposition) : from_(exposition) {}

    void groups();
    void traced();
    /// The registry has the series of a family in no order. Returns them in the order of their labels.
    std::vector<MetricFamily> families() const;

  private:
    Family<Gauge> &gauge(const char *name, const char *help) { return metrics::gauge(registry_, name, help); }
    Family<Counter> &counter(const char *name, const char *help) { return metrics::counter(registry_, name, help); }
    /// A series for each group.
    template <class Metric, class Group, class Value>
    void each(Family<Metric> &family, const std::vector<Group> &groups, const Value &value_of) {
        for (const Group &group : groups)
            add(family, named(group.name), static_cast<double>(value_of(group)));
    }
    /// The label of a group, and `more`. A comm is escaped as in rss.prom, where the kernel does not decode UTF-8: its
    /// series must have the same labels.
    Labels named(const std::string &group, Labels more = {}) const {
        more.emplace(from_.label, core::printable(group, from_.label != "comm"));
        return more;
    }
    double bytes(core::Pages pages) const {
        return static_cast<double>(pages.n) * static_cast<double>(from_.machine.page_size.bytes);
    }
    void memory();
    void lag();
    void build_info();
    void updates();
    void flushes();
    void losses();
    void add_parts(Family<Gauge> &family, const Group &group, core::Member member, const Labels &more);

    const Exposition &from_;
    prometheus::Registry registry_;
};

void Reading::add_parts(Family<Gauge> &family, const Group &group, core::Member member, const Labels &more) {
    const auto part = [&](const char *name, core::Pages pages) {
        Labels labels = named(group.name, more);
        labels.emplace("part", name);
        add(family, labels, bytes(pages));
    };
    if (!from_.by_proc) {
        part("flushed", group.flushed[member]);
        part("cached", group.cached[member]);
    } else if (group.with_members > 0) {
        part(kUndivided, group.undivided[member]);
    }
}

void Reading::memory() {
    Family<Gauge> &resident = gauge("rsslag_process_resident_memory_bytes", RSSLAG_HELP_RESIDENT);
    Family<Gauge> &swap = gauge("rsslag_process_swap_bytes", RSSLAG_HELP_SWAP);
    for (const Group &group : from_.groups) {
        for (const core::Member member : core::kRssMembers)
            add_parts(resident, group, member, {{"member", std::string(core::name(member))}});
        if (group.walked.n > 0)
            add(resident, named(group.name, {{"member", kUndivided}, {"part", kUndivided}}), bytes(group.walked));
        add_parts(swap, group, core::Member::Swap, {});
    }
}

/// There is no series of a group whose lag is not known.
void Reading::lag() {
    Family<Gauge> &family =
        gauge("rsslag_lag_bytes", "Resident memory that the flushed counters, as in /proc/PID/stat, do not show.");
    for (const Group &group : from_.groups)
        if (group.without_lag == 0) add(family, named(group.name), bytes(group.lag));
}

void Reading::build_info() {
    add(gauge("rsslag_build_info", "Always 1; the labels describe rsslag and the kernel."),
        {{"version", core::printable(from_.version)},
         {"kernel", core::printable(from_.kernel)},
         {"scheme", from_.by_proc ? "unknown" : std::string(core::name(from_.machine.scheme))},
         {"cpus", std::to_string(from_.machine.cpus_online)}},
        1);
}

void Reading::groups() {
    memory();
    lag();
    const auto of_groups = [this](const char *name, const char *help, const auto &value_of) {
        each(gauge(name, help), from_.groups, value_of);
    };
    if (!from_.by_proc)
        of_groups("rsslag_lag_bound_bytes", "The most that the kernel's scheme usually caches for a group.",
                  [this](const Group &group) { return bytes(group.bound); });
    of_groups("rsslag_processes", RSSLAG_HELP_PROCESSES, [](const Group &group) { return group.processes; });
    of_groups("rsslag_threads", RSSLAG_HELP_THREADS, [](const Group &group) { return group.threads; });
    of_groups("rsslag_processes_inexact", RSSLAG_HELP_INEXACT, [](const Group &group) { return group.inexact; });
    if (from_.by_proc)
        of_groups("rsslag_processes_unread",
                  "Processes of a group whose exact resident memory /proc does not show to this user.",
                  [](const Group &group) { return group.unread; });
    add(gauge("rsslag_reading_duration_seconds", "Duration of the last reading of all processes."), {},
        from_.reading_seconds);
    build_info();
}

void Reading::updates() {
    Family<Counter> &family =
        counter("rsslag_traced_updates_total",
                "Counter updates of a group's traced processes, by their own tasks or by others.");
    for (const TracedGroup &group : from_.trace->groups) {
        add(family, named(group.name, {{"by", "own"}}), static_cast<double>(group.counts.updates));
        add(family, named(group.name, {{"by", "others"}}), static_cast<double>(group.counts.updates_by_others));
    }
}

/// One series for each reason that exists in this scheme.
void Reading::flushes() {
    Family<Counter> &family =
        counter("rsslag_traced_flushes_total", "Flushes or folds of cached updates of a group's traced processes.");
    for (const TracedGroup &group : from_.trace->groups) {
        for (std::size_t i = 0; i < core::kFlushReasons; ++i) {
            const auto reason = static_cast<core::FlushReason>(i);
            if (reason == core::FlushReason::Direct) continue;  // nothing was cached
            if ((reason == core::FlushReason::Fold) != core::cpus_cache(from_.machine.scheme)) continue;
            add(family, named(group.name, {{"reason", std::string(core::name(reason))}}),
                static_cast<double>(group.counts.flushes[i]));
        }
    }
}

void Reading::losses() {
    add(counter("rsslag_trace_records_total", "Records that the kernel sent or lost for all traced processes."), {},
        static_cast<double>(from_.trace->losses.sent));
    Family<Counter> &lost = counter("rsslag_trace_lost_records_total", "Records that were lost, by cause.");
    std::map<std::string, std::uint64_t> by_cause = from_.trace->losses.by_cause;
    by_cause.try_emplace("unreadable", 0);  // increase() does not count the first value of a series
    for (const auto &[cause, count] : by_cause)
        add(lost, {{"cause", cause}}, static_cast<double>(count));
    const core::Totals &missed = from_.trace->missed;
    Family<Counter> &processes =
        counter("rsslag_trace_missed_processes_total",
                "Processes that were not traced from their exec or start, although they match: "
                "those read late, and those that could not be attached.");
    add(processes, {{"cause", "read_late"}}, static_cast<double>(missed.processes_read_late));
    add(processes, {{"cause", "not_attached"}}, static_cast<double>(missed.processes_not_traced));
    const bool search_failed = missed.not_traced_reason && missed.processes_not_traced == 0;
    add(processes, {{"cause", "search_failed"}}, search_failed ? 1 : 0);
}

void Reading::traced() {
    const std::vector<TracedGroup> &groups = from_.trace->groups;
    each(gauge("rsslag_traced_processes", "Traced processes of a group."), groups,
         [](const TracedGroup &group) { return group.processes; });
    each(gauge("rsslag_traced_processes_need_resync", "Traced processes that need a resync after lost records."),
         groups, [](const TracedGroup &group) { return group.needs_resync; });
    updates();
    each(counter("rsslag_traced_faults_total", "Page faults of a group's traced processes."), groups,
         [](const TracedGroup &group) { return group.counts.faults; });
    flushes();
    each(gauge("rsslag_traced_peak_resident_memory_bytes",
               "Peak resident memory of one process of a group since its trace started, by every update."),
         groups, [this](const TracedGroup &group) { return bytes(group.peak_from); });
    each(gauge("rsslag_traced_peak_uncertainty_bytes",
               "How much higher that peak may be: the order of updates of several CPUs may not be known."),
         groups, [this](const TracedGroup &group) { return bytes(group.peak_to - group.peak_from); });
    each(
        gauge("rsslag_traced_peak_lossy",
              "1 if records were lost or came before the first reading, so that the peak may be higher without limit."),
        groups, [](const TracedGroup &group) { return group.peak_lossy ? 1 : 0; });
    losses();
}

std::vector<MetricFamily> Reading::families() const {
    std::vector<MetricFamily> all = registry_.Collect();
    for (MetricFamily &family : all)
        std::sort(family.metric.begin(), family.metric.end(),
                  [](const auto &a, const auto &b) { return a.label < b.label; });
    return all;
}

/// In OpenMetrics the name of a counter family lacks the _total of its samples.
std::string as_open_metrics(std::string_view prometheus) {
    std::string text;
    for (std::size_t from = 0; from < prometheus.size();) {
        const std::size_t to = prometheus.find('\n', from);
        std::string line(prometheus.substr(from, to - from));
        const std::size_t name = line.starts_with("# ") ? line.find(' ', 2) : std::string::npos;
        const std::size_t end = name == std::string::npos ? name : line.find(' ', name + 1);
        if (end != std::string::npos && std::string_view(line).substr(0, end).ends_with(kTotal))
            line.erase(end - kTotal.size(), kTotal.size());
        text += line + '\n';
        from = to == std::string_view::npos ? prometheus.size() : to + 1;
    }
    return text;
}

std::string serialized(const std::vector<MetricFamily> &families, Format format) {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families);
    return format == Format::OpenMetrics ? as_open_metrics(std::move(out).str()) : std::move(out).str();
}

/// Removes the part until the separator and the separator itself from `text`. Returns the part without blanks around
/// it.
std::string_view take_until(std::string_view &text, char separator) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    constexpr std::string_view kBlanks = " \t";
    part.remove_prefix(std::min(part.find_first_not_of(kBlanks), part.size()));
    part.remove_suffix(part.size() - (part.find_last_not_of(kBlanks) + 1));
    return part;
}

/// Media types and names of parameters ignore case.
std::string lower(std::string_view text) {
    std::string result(text);
    for (char &c : result)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result;
}

/// One element of an Accept header: "text/plain;version=0.0.4;q=0.5".
struct MediaRange {
    std::string type;
    std::optional<std::string> version;
    double quality = 1;
};

MediaRange read_range(std::string_view text) {
    MediaRange range{lower(take_until(text, ';')), {}, 1};
    while (!text.empty()) {
        std::string_view value = take_until(text, ';');
        const std::string name = lower(take_until(value, '='));
        if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"'))
            value = value.substr(1, value.size() - 2);
        if (name == "version") range.version = value;
        if (name == "q") std::from_chars(value.data(), value.data() + value.size(), range.quality);
    }
    return range;
}

}  // namespace

/// Series that exist from the start to the end, unlike those of a Reading.
struct Exporter::Metrics {
    prometheus::Registry registry;
    Counter &readings =
        counter(registry, "rsslag_readings_total", "Readings of all processes since the start.").Add({});
    Counter &failures = counter(registry, "rsslag_reading_failures_total", "Readings that failed.").Add({});
    Counter &requests = counter(registry, "rsslag_requests_total", "Answered requests.").Add({});
    Counter &cpu = counter(registry, "rsslag_exporter_cpu_seconds_total", "CPU time of the exporter.").Add({});
    Gauge &resident =
        gauge(registry, "rsslag_exporter_resident_memory_bytes", "Resident memory of the exporter.").Add({});
};

std::string_view content_type(Format format) {
    return format == Format::OpenMetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                         : "text/plain; version=0.0.4; charset=utf-8";
}

Format accepted(std::string_view accept) {
    constexpr std::array<std::string_view, 3> kOthers{"text/plain", "text/*", "*/*"};  // the most specific one counts
    std::array<std::optional<double>, kOthers.size()> others;
    double open_metrics = 0;
    while (!accept.empty()) {
        const MediaRange range = read_range(take_until(accept, ','));
        if (range.type == "application/openmetrics-text" && range.version.value_or("1.0.0") == "1.0.0")
            open_metrics = std::max(open_metrics, range.quality);
        const auto found = std::ranges::find(kOthers, range.type);
        if (found == kOthers.end()) continue;
        std::optional<double> &quality = others.at(static_cast<std::size_t>(found - kOthers.begin()));
        quality = std::max(quality.value_or(0), range.quality);
    }
    const double other = others[0].value_or(others[1].value_or(others[2].value_or(0)));
    return open_metrics > 0 && open_metrics >= other ? Format::OpenMetrics : Format::Prometheus;
}

core::Status supported() {
    return core::success();
}

std::string text(const Exposition &exposition, Format format) {
    Reading reading(exposition);
    reading.groups();
    if (exposition.trace) reading.traced();
    return serialized(reading.families(), format);
}

Exporter::Exporter() : metrics_(std::make_unique<Metrics>()) {}
Exporter::~Exporter() = default;

void Exporter::count_reading(std::int64_t resident_bytes) {
    metrics_->readings.Increment();
    metrics_->resident.Set(static_cast<double>(resident_bytes));
}

void Exporter::count_failure() {
    metrics_->failures.Increment();
}

void Exporter::count_request(double cpu_seconds) {
    metrics_->requests.Increment();
    metrics_->cpu.Increment(cpu_seconds - metrics_->cpu.Value());
}

std::string text(const Exporter &exporter, Format format) {
    return serialized(exporter.metrics_->registry.Collect(), format) + (format == Format::OpenMetrics ? "# EOF\n" : "");
}

}  // namespace rsslag::metrics
