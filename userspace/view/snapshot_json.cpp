// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "rsslag/core/text.h"
#include "rsslag/view/snapshot.h"

namespace rsslag::view {
namespace {

using core::Pages;
using nlohmann::ordered_json;

ordered_json number(const std::optional<Pages> &pages) {
    return pages ? ordered_json(pages->n) : ordered_json(nullptr);
}

ordered_json number(const std::optional<core::Kilobytes> &kb) {
    return kb ? ordered_json(kb->n) : ordered_json(nullptr);
}

/// A PID or TID; 0 stands for one that this PID namespace does not show.
ordered_json id(int number) {
    return number > 0 ? ordered_json(number) : ordered_json(nullptr);
}

void put_members(ordered_json &object, const core::Members &members) {
    object["file"] = members.file.n;
    object["anon"] = members.anon.n;
    object["shmem"] = members.shmem.n;
    object["swap"] = members.swap.n;
    object["rss"] = members.rss().n;
}

ordered_json members(const core::Members &members) {
    ordered_json object = ordered_json::object();
    put_members(object, members);
    return object;
}

ordered_json readers(const core::ReaderValues &values, const core::PageSize &page_size) {
    const auto in_kb = [&](const std::optional<Pages> &pages) {
        return pages ? ordered_json(page_size.kb(*pages).n) : ordered_json(nullptr);
    };
    return {{"stat", {{"rss_kb", in_kb(values.stat)}}},
            {"statm", {{"rss_kb", in_kb(values.statm)}}},
            {"status",
             {{"rss_kb", number(values.status_rss)},
              {"anon_kb", number(values.status_anon)},
              {"file_kb", number(values.status_file)},
              {"shmem_kb", number(values.status_shmem)},
              {"swap_kb", number(values.status_swap)},
              {"hwm_kb", number(values.status_hwm)}}}};
}

ordered_json walked(const ProcessReading &process) {
    if (!process.walk) return nullptr;
    const core::Walk &walk = *process.walk;
    return {{"file", core::name(walk.file)}, {"rss_kb", walk.rss.n},    {"pss_kb", walk.pss.n},
            {"swap_kb", walk.swap.n},        {"walk_us", walk.took_us}, {"age_ms", process.walk_age_ms}};
}

ordered_json bound(const core::Bound &bound) {
    ordered_json object = members(bound.members);
    object["rss"] = bound.rss.n;
    object["hard"] = bound.hard;
    return object;
}

ordered_json causes(const std::vector<core::ResidualCause> &list) {
    ordered_json array = ordered_json::array();
    for (const core::ResidualCause &cause : list) {
        array.push_back({{"cause", core::name(cause.cause)}, {"pages", cause.pages.n}});
    }
    return array;
}

ordered_json cached_by(const ProcessReading &process) {
    ordered_json array = ordered_json::array();
    for (const core::TaskReading &task : process.tasks) {
        if (task.cached == core::Members{}) continue;
        ordered_json row = {{"tid", id(task.tid)}, {"tgid", id(task.tgid)}, {"comm", core::printable(task.comm)}};
        put_members(row, task.cached);
        row["faults_since_flush"] = task.faults_since_flush;
        array.push_back(std::move(row));
    }
    for (const core::CpuReading &cpu : process.cpus) {
        ordered_json row = {{"cpu", cpu.cpu}};
        put_members(row, cpu.cached);
        array.push_back(std::move(row));
    }
    return array;
}

ordered_json process_json(const ProcessReading &process, const core::PageSize &page_size) {
    const core::Reconciliation &verdict = process.verdict;
    ordered_json object;
    object["pid"] = process.pid;
    object["host_pid"] = process.host_pid ? ordered_json(*process.host_pid) : ordered_json(nullptr);
    object["start_ticks"] = process.start_ticks;
    object["uid"] = process.uid;
    object["comm"] = core::printable(process.comm);
    object["threads_count"] = process.threads_count;
    object["mm"] = {{"id", process.mm_id}, {"tasks", process.tasks.size()}, {"pids", process.mm_pids}};
    object["readers"] = readers(process.readers, page_size);
    object["walk"] = core::name(process.walk_state);
    object["walked"] = walked(process);
    object["flushed"] = members(verdict.flushed);
    object["cached"] = members(verdict.cached);
    object["exact"] = members(verdict.exact);
    object["bound"] = bound(process.bound);
    object["lag"] = number(core::lag(process.finding()));
    object["window"] = {{"min", verdict.window.min.n}, {"max", verdict.window.max.n}, {"updates", nullptr}};
    object["residual"] = number(verdict.residual);
    object["residual_causes"] = causes(verdict.causes);
    object["verdict"] = core::name(verdict.verdict);
    object["cached_by"] = cached_by(process);
    object["snapshot_us"] = process.snapshot_us;
    return object;
}

}  // namespace

std::string snapshot_json(const SnapshotDocument &document) {
    const core::Machine &machine = document.machine;
    ordered_json object;
    object["schema"] = "rsslag.snapshot/1";
    object["time"] = utc_time(document.time);
    object["kernel"] = document.kernel;
    object["arch"] = document.arch;
    object["scheme"] = core::name(machine.scheme);
    object["page_size"] = machine.page_size.bytes;
    object["cpus_online"] = machine.cpus_online;
    object["cpus_possible"] = machine.cpus_possible;
    object["batch"] = machine.batch() ? ordered_json(*machine.batch()) : ordered_json(nullptr);
    object["calibration"] = {{"stat", core::name(document.calibration.stat)},
                             {"statm", core::name(document.calibration.statm)},
                             {"status", core::name(document.calibration.status)}};
    object["processes"] = ordered_json::array();
    for (const ProcessReading &process : document.processes) {
        object["processes"].push_back(process_json(process, machine.page_size));
    }
    object["failed"] = ordered_json::array();
    for (const FailedTarget &failed : document.failed) {
        object["failed"].push_back({{"pid", failed.pid}, {"reason", failed.reason}});
    }
    return object.dump() + "\n";
}

}  // namespace rsslag::view
