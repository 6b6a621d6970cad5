// SPDX-License-Identifier: BSD-2-Clause
// The parts that all JSON documents share. For modules that link nlohmann_json; core itself does not.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/assertion.h"
#include "core/ledger.h"
#include "core/member_name.h"
#include "core/text.h"
#include "core/units.h"

namespace rsslag::core::json {

/// null if unknown.
template <class T>
nlohmann::ordered_json or_null(const std::optional<T> &value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

inline nlohmann::ordered_json number(const std::optional<Pages> &pages) {
    return pages ? nlohmann::ordered_json(pages->n) : nlohmann::ordered_json(nullptr);
}

inline nlohmann::ordered_json number(const std::optional<Kilobytes> &kb) {
    return kb ? nlohmann::ordered_json(kb->n) : nlohmann::ordered_json(nullptr);
}

/// The keys value (null if unknown), limit and unit.
inline void put_comparison(nlohmann::ordered_json &object, const Assertion &assertion,
                           const std::optional<double> &value) {
    object["value"] =
        value && std::isfinite(*value) ? nlohmann::ordered_json(in_unit(assertion.unit, *value)) : nullptr;
    object["limit"] = in_unit(assertion.unit, assertion.limit);
    object["unit"] = unit_name(assertion.unit);
}

/// A PID or TID; null if it is 0, i.e. not visible in this PID namespace.
inline nlohmann::ordered_json id(int number) {
    return number > 0 ? nlohmann::ordered_json(number) : nlohmann::ordered_json(nullptr);
}

/// All members without their sum: keys file, anon, shmem, swap.
inline nlohmann::ordered_json by_member(const Members &members) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const Member member : kMembersInOrder)
        object[std::string(name(member))] = members[member].n;
    return object;
}

/// All members and their rss.
inline void put_members(nlohmann::ordered_json &object, const Members &members) {
    object.update(by_member(members));
    object["rss"] = members.rss().n;
}
inline nlohmann::ordered_json members(const Members &members) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    put_members(object, members);
    return object;
}

/// The sums over tasks that have ended.
inline nlohmann::ordered_json exited(const ExitedNet &exited) {
    return {{"threads", exited.threads}, {"net", members(exited.net)}, {"uncertain", exited.uncertain.n},
            {"faults", exited.faults},   {"updates", exited.updates},  {"flushes", exited.flushes}};
}

/// The peak, computed from records; a range if CPUs changed it concurrently.
inline nlohmann::ordered_json peak(const Extremes &extremes) {
    return {{"peak_min", extremes.most.from.n},
            {"peak_max", extremes.most.to.n},
            {"t_ns", extremes.most.t_ns},
            {"tid", id(extremes.most.tid)},
            {"lossy", extremes.lossy}};
}

/// The members at an extreme of the rss; their rss is null if the extreme is a range.
inline nlohmann::ordered_json members_at(const Extreme &extreme) {
    nlohmann::ordered_json object = members(extreme.members);
    if (extreme.from != extreme.to) object["rss"] = nullptr;
    return object;
}

/// The highest value of each member by itself; rss is the peak, or the upper end of its range.
inline nlohmann::ordered_json members_most(const Extremes &extremes) {
    nlohmann::ordered_json object = members(extremes.each_most);
    object["rss"] = extremes.most.to.n;
    return object;
}

/// By member: the time since the attach in ns, and the task.
inline nlohmann::ordered_json instants(const Instants &instants) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const Member member : kMembersInOrder) {
        const Instant &at = instants[static_cast<std::size_t>(member)];
        object[std::string(name(member))] = {{"t_ns", at.t_ns}, {"tid", id(at.tid)}};
    }
    return object;
}

/// The extremes except the peak of the rss. The instants of the members' extremes may differ, so they have no sum.
inline void put_extremes(nlohmann::ordered_json &object, const Extremes &extremes) {
    object["peak_by_member_at"] = instants(extremes.each_most_at);
    object["lowest"] = {{"rss_min", extremes.least.from.n},
                        {"rss_max", extremes.least.to.n},
                        {"t_ns", extremes.least.t_ns},
                        {"tid", id(extremes.least.tid)},
                        {"members", members_at(extremes.least)},
                        {"by_member", by_member(extremes.each_least)},
                        {"by_member_at", instants(extremes.each_least_at)}};
    object["cached_most"] = by_member(extremes.cached_most);
    object["cached_most_at"] = instants(extremes.cached_most_at);
    object["extremes_approximate"] = extremes.approximate();
}

/// The extremes of the sum over all mms.
inline nlohmann::ordered_json tree(const Extremes &all) {
    nlohmann::ordered_json object = peak(all);
    object["processes"] = all.most.processes;
    object["peak_members"] = members_at(all.most);
    object["peak_by_member"] = members_most(all);
    put_extremes(object, all);
    object["lowest"]["processes"] = all.least.processes;
    return object;
}

/// Counts by cause or reason; keys are made printable.
inline nlohmann::ordered_json counts(const std::map<std::string, std::uint64_t> &counts) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const auto &[key, count] : counts)
        object[printable(key)] = count;
    return object;
}

}  // namespace rsslag::core::json
