// SPDX-License-Identifier: BSD-2-Clause
#include "core/text.h"
#include "documents/snapshot.h"
#include "json_parts.h"

namespace rsslag::documents {
namespace {

using nlohmann::ordered_json;

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
    ordered_json object;
    put_reading(object, process, figures_of(process), page_size);
    object["cached_by"] = cached_by(process);
    object["snapshot_us"] = process.snapshot_us;
    object["hugetlb_kb"] = number(process.hugetlb);
    return object;
}

}  // namespace

std::string snapshot_json(const SnapshotDocument &document) {
    const core::Machine &machine = document.machine;
    ordered_json object;
    object["schema"] = "rsslag.snapshot/2";
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

}  // namespace rsslag::documents
