// SPDX-License-Identifier: BSD-2-Clause
#include "exporters/facts_json.h"

#include "core/text.h"

namespace rsslag::exporters {

using nlohmann::ordered_json;

void put_facts(ordered_json &object, const Facts &facts) {
    const auto text = [](const std::string &raw) {
        return raw.empty() ? ordered_json(nullptr) : ordered_json(core::printable(raw));
    };
    const auto batch = facts.machine.batch();
    object["time"] = core::utc_time(facts.time);
    object["kernel"] = text(facts.kernel);
    object["arch"] = text(facts.arch);
    object["host"] = text(facts.host);
    object["boot_id"] = text(facts.boot_id);
    object["trace_id"] = text(facts.trace_id);
    object["segment"] = facts.segment;
    object["command_line"] = text(facts.command_line);
    object["mode"] = text(facts.mode);
    object["scheme"] = core::name(facts.machine.scheme);
    object["page_size"] = facts.machine.page_size.bytes;
    object["cpus_online"] = facts.machine.cpus_online;
    object["cpus_possible"] = facts.machine.cpus_possible;
    object["batch"] = batch ? ordered_json(*batch) : ordered_json(nullptr);
    object["calibration"] = {{"stat", core::name(facts.calibration.stat)},
                             {"statm", core::name(facts.calibration.statm)},
                             {"status", core::name(facts.calibration.status)}};
}

}  // namespace rsslag::exporters
