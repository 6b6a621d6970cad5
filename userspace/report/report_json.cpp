// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <utility>

#include "core/json.h"
#include "core/text.h"
#include "exporters/facts_json.h"
#include "exporters/pieces.h"
#include "report/report.h"
#include "report_parts.h"
#include "stacks.h"

namespace rsslag::report {
namespace {

using core::json::counts;
using core::json::exited;
using core::json::id;
using core::json::members;
using core::json::number;
using core::json::or_null;
using nlohmann::ordered_json;

ordered_json peak_lag(const std::optional<PeakLag> &peak) {
    if (!peak) return nullptr;
    return {{"pages", peak->pages.n},
            {"t_ns", peak->t_ns},
            {"pid", id(peak->pid)},
            {"tid", nullptr},
            {"cpu", nullptr},
            {"comm", core::printable(peak->comm)},
            {"approximate", peak->approximate},
            {"rss", peak->rss.n}};
}

/// Keys common to threads and tasks of other processes.
ordered_json share(const ReportThread &thread) {
    return {{"tid", id(thread.tid)},
            {"tgid", id(thread.tgid)},
            {"host_tid", id(thread.host_tid)},
            {"mm", fmt::format("{}", thread.mm)},
            {"comm", core::printable(thread.comm)},
            {"net", members(thread.net)},
            {"uncertain", thread.uncertain.n},
            {"ended", thread.ended},
            {"updates", thread.updates}};
}

ordered_json thread(const ReportThread &thread) {
    ordered_json object = share(thread);
    object["faults"] = thread.faults;
    object["flushes"] = thread.flushes;
    object["peak_cached"] = number(thread.peak_cached);
    object["peak_cached_t_ns"] = thread.peak_cached ? ordered_json(thread.peak_cached_t_ns) : ordered_json(nullptr);
    return object;
}

ordered_json teardown(const MmReport &mm) {
    return {{"net", members(mm.teardown)},
            {"uncertain", mm.teardown_uncertain.n},
            {"updates", mm.teardown_updates},
            {"flushes", mm.teardown_flushes}};
}

ordered_json ended_others(const MmReport &mm) {
    return {{"tasks", mm.ended_others.threads},
            {"net", members(mm.ended_others.net)},
            {"uncertain", mm.ended_others.uncertain.n},
            {"updates", mm.ended_others.updates}};
}

ordered_json mm_report(const MmReport &mm) {
    return {{"mm", fmt::format("{}", mm.mm)},
            {"baseline", members(mm.baseline)},
            {"final", members(mm.final)},
            {"exited", exited(mm.exited)},
            {"teardown", teardown(mm)},
            {"others", members(mm.others)},
            {"ended_others", ended_others(mm)},
            {"remainder", members(mm.remainder)},
            {"updates", mm.updates},
            {"updates_by_others", mm.updates_by_others},
            {"resyncs", mm.resyncs},
            {"needs_resync", mm.needs_resync}};
}

ordered_json point(const LagPoint &point) {
    return {{"t_ns", point.t_ns},
            {"lag", number(point.lag)},
            {"reported", number(point.reported)},
            {"exact", point.exact.n},
            {"cached", point.cached.n},
            {"walked", number(point.walked)},
            {"needs_resync", point.needs_resync}};
}

ordered_json growth_range(const Growth &growth, bool approximate) {
    return {{"from", fmt::format("{:#x}", growth.from)},
            {"to", fmt::format("{:#x}", growth.to)},
            {"pages", growth.pages.n},
            {"updates", growth.updates},
            {"approximate", approximate}};
}

ordered_json kilobytes(const std::optional<core::Kilobytes> &kb) {
    return kb ? ordered_json(kb->n) : ordered_json(nullptr);
}

/// null: no sample was taken at a fault in the mapping.
ordered_json mapping_stack(const profile::MappingStack *most, const profile::Profile &stacks) {
    if (most == nullptr) return nullptr;
    ordered_json functions = ordered_json::array();
    for (const std::uint32_t frame : stacks.stacks[most->stack].frames)
        functions.push_back(core::printable(profile::name_of(stacks.frames[frame])));
    return {{"functions", functions}, {"share", most->share}};
}

ordered_json named_growth(const exporters::ImageGrowth::Mapping &mapping, const profile::MappingStack *most,
                          const profile::Profile &stacks) {
    return {{"mapping", core::printable(mapping.name)},
            {"came", mapping.came.n},
            {"updates", mapping.updates},
            {"held_start_kb", kilobytes(mapping.held_start)},
            {"held_end_kb", kilobytes(mapping.held_end)},
            {"build_id", mapping.build_id.known() ? ordered_json(core::hex(mapping.build_id)) : ordered_json(nullptr)},
            {"stack", mapping_stack(most, stacks)}};
}

ordered_json thread_growth(const exporters::ImageGrowth::Thread &thread) {
    return {{"tid", id(thread.tid)}, {"comm", core::printable(thread.comm)}, {"came", thread.came.n}};
}

template <class List, class Make>
ordered_json array_of(const List &list, Make make) {
    ordered_json array = ordered_json::array();
    for (const auto &each : list)
        array.push_back(make(each));
    return array;
}

ordered_json image(const exporters::ImageGrowth &image, const profile::Profile &stacks) {
    const auto with_stack = [&](const exporters::ImageGrowth::Mapping &mapping) {
        return named_growth(mapping, stacks.mapping(image.mm, mapping.name), stacks);
    };
    ordered_json no_fault = ordered_json::object();
    for (std::size_t i = 0; i < exporters::kNoFaults; ++i)
        no_fault[std::string(name(static_cast<exporters::NoFault>(i)))] = image.no_fault[i].n;
    return {{"comm", core::printable(image.comm)},
            {"mm", fmt::format("{}", image.mm)},
            {"start", image.at_start.n},
            {"last", image.last.n},
            {"grew", image.grew().n},
            {"approximate", image.approximate},
            {"parts_approximate", image.parts_approximate},
            {"mappings", array_of(image.mappings, with_stack)},
            {"threads", array_of(image.threads, thread_growth)},
            {"no_fault", no_fault},
            {"names_lost", image.names_lost}};
}

ordered_json residual(const ResidualStatistics &residual) {
    return {{"min", number(residual.min)},
            {"max", number(residual.max)},
            {"nonzero", residual.nonzero},
            {"walks", residual.walks}};
}

/// Without its images.
ordered_json process_json(const ReportProcess &process) {
    ordered_json object = ordered_json::object();
    // When it grows, an ordered_map copies its values, which include the arrays of all threads.
    constexpr std::size_t kMostKeys = 64;
    object.get_ref<ordered_json::object_t &>().reserve(kMostKeys);
    object["pid"] = id(process.pid);
    object["comm"] = core::printable(process.comm);
    object["state"] = core::name(process.state);
    object["image"] = process.extremes.image;
    object["peak_comm"] = core::printable(process.extremes.comm);
    object["peak_lag"] = peak_lag(process.peak_lag);
    object["peak"] = core::json::peak(process.extremes);
    object["peak_rss"] = process.extremes.most.to.n;
    object["peak_members"] = core::json::members_at(process.extremes.most);
    object["peak_by_member"] = core::json::members_most(process.extremes);
    core::json::put_extremes(object, process.extremes);
    object["baseline"] = members(process.baseline);
    object["baseline_approximate"] = process.baseline_approximate;
    object["start"] = members(process.at_start);
    object["start_approximate"] = process.start_approximate;
    object["final"] = members(process.final);
    object["final_approximate"] = process.final_approximate;
    object["ticks"] = process.ticks;
    object["verdicts"] = verdict_counts<ordered_json>(process.verdicts);
    object["residual"] = residual(process.residual);
    object["updates"] = process.sum.updates;
    object["updates_by_others"] = process.sum.updates_by_others;
    object["threads"] = array_of(process.threads, thread);
    object["threads_ended"] = process.sum.ended;
    object["exited"] = exited(process.sum.exited);
    object["teardown"] = teardown(process.sum);
    object["others"] = members(process.sum.others);
    object["other_tasks"] = array_of(process.other_tasks, share);
    object["ended_others"] = ended_others(process.sum);
    object["mms"] = array_of(process.mms, mm_report);
    object["lag"] = array_of(process.points, point);
    object["growth"] = array_of(
        process.growth, [&process](const Growth &growth) { return growth_range(growth, process.extremes.lossy); });
    return object;
}

/// One image at a time: a process may have run thousands of programs.
void put_process(exporters::Pieces &out, const ReportProcess &process, const profile::Profile &stacks) {
    std::string text = process_json(process).dump();
    text.pop_back();
    out.put(text + ",\"images\":[");
    out.put_list(process.images, [&stacks](const auto &each) { return image(each, stacks).dump(); });
    out.put("]}");
}

ordered_json missing(const exporters::MissingPart &missing) {
    return {{"reason", core::printable(missing.reason)},
            {"from_ns", missing.from_ns},
            {"to_ns", missing.to_ns},
            {"records", or_null(missing.records)}};
}

ordered_json side(const Report &report) {
    ordered_json header;
    exporters::put_facts(header, report.facts);
    ordered_json object{{"header", header}};
    ordered_json approximate = ordered_json::array();
    for (const Figure &figure : figures(report)) {
        object[figure.name] = figure.value ? ordered_json(*figure.value) : ordered_json(nullptr);
        if (figure.value && !figure.exact()) approximate.push_back(figure.name);
    }
    object["approximate"] = approximate;
    return object;
}

}  // namespace

core::Status report_json(const Report &report, const exporters::Write &write) {
    const exporters::Ending &ending = report.ending;
    ordered_json object;
    object["schema"] = "rsslag.report/2";
    object["header"] = ordered_json::object();
    exporters::put_facts(object["header"], report.facts);
    object["complete"] = ending.complete;
    object["missing"] = array_of(ending.missing, missing);
    object["duration_ns"] = ending.duration_ns;
    object["records"] = report.records;
    object["updates"] = ending.updates;
    object["updates_by_others"] = ending.updates_by_others;
    object["faults"] = ending.faults;
    object["flushes"] = ending.flushes;
    object["emitted"] = ending.emitted;
    object["lost"] = ending.lost;
    object["lost_by"] = counts(ending.lost_by);
    object["at_least"] = report.lossy();
    object["resyncs"] = ending.resyncs;
    object["disagreements"] = ending.disagreements;
    object["processes_read_late"] = ending.processes_read_late;
    object["processes_unread"] = ending.processes_unread;
    object["processes_not_traced"] = ending.processes_not_traced;
    object["not_traced_reason"] = or_null(ending.not_traced_reason);
    object["flush_reasons"] = counts(ending.flush_reasons);
    object["rows"] = counts(report.rows);
    object["peak_lag"] = peak_lag(report.peak_lag);
    object["tree"] = core::json::tree(ending.all);
    object["names"] = report.names;
    object["processes_left_out"] = {{"processes", report.left_out_processes},
                                    {"verdicts", verdict_counts<ordered_json>(report.left_out_verdicts)}};
    exporters::Pieces out(write);
    std::string text = object.dump();
    text.pop_back();
    out.put(text + ",\"processes\":[");
    bool first = true;
    for (const ReportProcess &each : report.processes) {
        if (!std::exchange(first, false)) out.put(",");
        put_process(out, each, report.stacks);
    }
    out.put("],");
    put_stacks_json(out, report.stacks);
    out.put("}\n");
    return out.end();
}

std::string diff_json(const Report &before, const Report &after) {
    ordered_json object{{"schema", "rsslag.report-diff/2"}, {"before", side(before)}, {"after", side(after)}};
    ordered_json change = ordered_json::object();
    const auto was = figures(before);
    const auto is = figures(after);
    const bool same_pages = before.facts.machine.page_size.bytes == after.facts.machine.page_size.bytes;
    for (std::size_t i = 0; i < was.size(); ++i) {
        const bool comparable = same_pages || is[i].unit != Figure::Unit::Size;
        const bool known = comparable && was[i].value && is[i].value && was[i].exact() && is[i].exact();
        change[was[i].name] = known ? ordered_json(*is[i].value - *was[i].value) : ordered_json(nullptr);
    }
    object["change"] = change;
    return object.dump() + "\n";
}

}  // namespace rsslag::report
