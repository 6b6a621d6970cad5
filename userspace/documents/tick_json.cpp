// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include "core/text.h"
#include "documents/tick.h"
#include "json_parts.h"

namespace rsslag::documents {
namespace {

using core::TaskNet;
using nlohmann::ordered_json;
using Counts = std::map<std::string, std::uint64_t>;

constexpr std::array<core::Verdict, 5> kAllVerdicts{core::Verdict::Agrees, core::Verdict::Explained,
                                                    core::Verdict::Moving, core::Verdict::Unexplained,
                                                    core::Verdict::Unwalked};

std::uint64_t at(const Counts &counts, std::string_view key) {
    const auto found = counts.find(std::string(key));
    return found == counts.end() ? 0 : found->second;
}

/// Two decimals: a measured ratio has no more.
double rounded(double value) {
    return std::round(value * 100) / 100;
}

ordered_json own(const OwnCost &cost) {
    const auto bpf = cost.bpf_ns_per_event;
    return {{"cpu_percent", rounded(cost.cpu_percent)},
            {"bpf_ns_per_event", bpf ? ordered_json(rounded(*bpf)) : ordered_json(nullptr)},
            {"rss_kb", cost.rss.n},
            {"buffers_kb", cost.buffers ? ordered_json(cost.buffers->n) : ordered_json(nullptr)}};
}

ordered_json flush_reasons(const Tick &tick) {
    ordered_json object = ordered_json::object();
    for (const core::FlushReason reason : reasons(tick.scheme))
        object[std::string(core::name(reason))] = tick.ledger.flushes[static_cast<std::size_t>(reason)];
    return object;
}

std::string members_text(const core::Members &members) {
    std::string text = "{";
    for (const core::Member member : core::kMembersInOrder)
        fmt::format_to(std::back_inserter(text), R"("{}":{},)", core::name(member), members[member].n);
    fmt::format_to(std::back_inserter(text), R"("rss":{}}})", members.rss().n);
    return text;
}

/// Both times are since the attach. A flush after the tick's time has the age 0.
std::string flush_age_ms(const TaskNet &task, std::uint64_t t_ns) {
    if (task.last_flush_ns == 0) return "null";
    return std::to_string((t_ns - std::min(t_ns, task.last_flush_ns)) / 1'000'000);
}

/// Written as text, not as JSON objects: with many threads the objects would dominate the cost.
void put_thread(std::string &out, const TaskNet &task, const Tick &tick) {
    const bool caches = core::tasks_cache(tick.scheme) && task.cached;
    fmt::format_to(std::back_inserter(out),
                   R"({{"tid":{},"tgid":{},"comm":{},"cached":{},"net":{},"uncertain":{},"faults":{},"updates":{},)"
                   R"("flushes":{},"flush_age_ms":{}}})",
                   id(task.tid).dump(), id(task.tgid).dump(), ordered_json(core::printable(task.comm)).dump(),
                   caches ? members_text(*task.cached) : "null", members_text(task.net), task.uncertain.n, task.faults,
                   task.updates, task.flushes, flush_age_ms(task, tick.t_ns));
}

/// Appends the key "threads", its value and the comma after it.
void put_threads(std::string &out, const Tick &tick) {
    out += ",\"threads\":";
    if (tick.threads.which == ThreadChoice::Which::None) {
        out += "null,";
        return;
    }
    out += '[';
    const std::vector<const TaskNet *> listed = listed_threads(tick);
    for (const TaskNet *task : listed) {
        if (task != listed.front()) out += ',';
        put_thread(out, *task, tick);
    }
    out += "],";
}

ordered_json others(const std::vector<TaskNet> &tasks) {
    ordered_json array = ordered_json::array();
    for (const TaskNet &task : tasks) {
        array.push_back({{"tid", id(task.tid)},
                         {"comm", core::printable(task.comm)},
                         {"net", members(task.net)},
                         {"uncertain", task.uncertain.n},
                         {"updates", task.updates}});
    }
    return array;
}

ordered_json cpus(const Tick &tick) {
    if (!core::cpus_cache(tick.scheme)) return nullptr;
    ordered_json array = ordered_json::array();
    for (const core::CpuNet &cpu : tick.ledger.cpus)
        array.push_back({{"cpu", cpu.cpu}, {"cached", members(cpu.cached)}, {"folds", cpu.folds}});
    return array;
}

void put_counts(ordered_json &object, const Tick &tick) {
    const core::MmView &ledger = tick.ledger;
    object["updates"] = ledger.updates;
    object["updates_by_others"] = ledger.updates_by_others;
    object["faults"] = tick.faults;
    object["flushes"] = flushes(ledger);
    object["flush_reasons"] = flush_reasons(tick);
    object["lost"] = tick.lost;
    object["lost_by"] = core::json::counts(tick.lost_by);
    object["disagreements"] = ledger.disagreements;
    object["resyncs"] = ledger.resyncs;
}

ordered_json verdicts(const Counts &counts) {
    ordered_json object = ordered_json::object();
    for (const core::Verdict verdict : kAllVerdicts)
        object[std::string(core::name(verdict))] = at(counts, core::name(verdict));
    return object;
}

ordered_json summary_process(const Summary::Process &process) {
    ordered_json object = {{"pid", process.pid},
                           {"comm", core::printable(process.comm)},
                           {"state", core::name(process.state)},
                           {"image", process.extremes.image},
                           {"peak_comm", core::printable(process.extremes.comm)},
                           {"peak_lag",
                            {{"pages", process.extremes.lag.n},
                             {"t_ns", process.extremes.lag_t_ns},
                             {"approximate", process.extremes.approximate()}}},
                           {"peak", core::json::peak(process.extremes)},
                           {"baseline", members(process.baseline)},
                           {"baseline_approximate", process.baseline_approximate},
                           {"start", members(process.at_start)},
                           {"start_approximate", process.start_approximate},
                           {"final", members(process.final)},
                           {"final_approximate", process.final_approximate},
                           {"verdicts", verdicts(process.verdicts)}};
    object["peak_members"] = core::json::members_at(process.extremes.most);
    object["peak_by_member"] = core::json::members_most(process.extremes);
    core::json::put_extremes(object, process.extremes);
    return object;
}

void put_counts(ordered_json &object, const Summary &summary) {
    object["ticks"] = summary.ticks;
    object["lines_dropped"] = summary.lines_dropped;
    object["records"] = summary.records;
    object["emitted"] = summary.emitted;
    object["updates"] = summary.updates;
    object["updates_by_others"] = summary.updates_by_others;
    object["faults"] = summary.faults;
    object["flushes"] = summary.flushes;
    object["flush_reasons"] = ordered_json::object();
    for (const core::FlushReason reason : reasons(summary.scheme))
        object["flush_reasons"][std::string(core::name(reason))] = at(summary.flush_reasons, core::name(reason));
    object["lost"] = summary.lost;
    object["lost_by"] = core::json::counts(summary.lost_by);
    object["at_least"] = summary.at_least();
    object["resyncs"] = summary.resyncs;
    object["disagreements"] = summary.disagreements;
    object["readings_failed"] = summary.readings_failed;
    object["processes_read_late"] = summary.processes_read_late;
    object["processes_unread"] = summary.processes_unread;
    object["processes_not_traced"] = summary.processes_not_traced;
    object["not_traced_reason"] = core::json::or_null(summary.not_traced_reason);
    object["ended_mms"] = summary.ended_mms;
    object["ended_not_at_zero"] = summary.ended_not_at_zero;
}

}  // namespace

std::string tick_json(const Tick &tick) {
    ordered_json object;
    object["schema"] = "rsslag.tick/2";
    object["seq"] = tick.seq;
    object["time"] = utc_time(tick.time);
    object["t_ns"] = tick.t_ns;
    object["page_size"] = tick.page_size.bytes;
    object["scheme"] = core::name(tick.scheme);
    object["state"] = core::name(tick.state);
    put_reading(object, tick.process, figures_of(tick), tick.page_size);
    object["peak"] = core::json::peak(tick.extremes);
    object["baseline"] = members(tick.ledger.baseline);
    object["baseline_approximate"] = tick.ledger.baseline_approximate;
    put_counts(object, tick);
    const ordered_json rest{{"exited", exited(tick.ledger.exited)},
                            {"others", others(tick.ledger.others)},
                            {"remainder", members(tick.ledger.remainder)},
                            {"cpus", cpus(tick)},
                            {"own", own(tick.own)}};
    std::string out = object.dump();
    out.pop_back();
    put_threads(out, tick);
    out.append(rest.dump(), 1);
    return out += '\n';
}

std::string gap_json(std::uint64_t lines) {
    const ordered_json object{{"schema", "rsslag.gap/1"}, {"lines_dropped", lines}};
    return object.dump() + "\n";
}

std::string summary_json(const Summary &summary) {
    ordered_json object;
    object["schema"] = "rsslag.summary/2";
    object["time"] = utc_time(summary.time);
    object["kernel"] = core::printable(summary.kernel);
    object["scheme"] = core::name(summary.scheme);
    object["page_size"] = summary.page_size.bytes;
    object["duration_ns"] = summary.duration_ns;
    put_counts(object, summary);
    object["processes"] = ordered_json::array();
    for (const Summary::Process &process : summary.processes)
        object["processes"].push_back(summary_process(process));
    object["processes_left_out"] = {{"processes", summary.left_out.processes},
                                    {"peak_lag", summary.left_out.peak_lag.n},
                                    {"peak_lag_approximate", summary.left_out.approximate},
                                    {"verdicts", verdicts(summary.left_out.verdicts)}};
    object["tree"] = core::json::tree(summary.all);
    object["own"] = own(summary.own);
    return object.dump() + "\n";
}

}  // namespace rsslag::documents
