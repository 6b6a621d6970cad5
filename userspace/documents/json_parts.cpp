// SPDX-License-Identifier: BSD-2-Clause
#include "json_parts.h"

#include "core/text.h"

namespace rsslag::documents {
namespace {

using core::Pages;
using nlohmann::ordered_json;

ordered_json bound(const std::optional<core::Bound> &bound) {
    if (!bound) return nullptr;
    ordered_json object = members(bound->members);
    object["rss"] = bound->rss.n;
    object["hard"] = bound->hard;
    return object;
}

ordered_json causes(const std::vector<core::ResidualCause> &list) {
    ordered_json array = ordered_json::array();
    for (const core::ResidualCause &cause : list) {
        array.push_back({{"cause", core::name(cause.cause)}, {"pages", cause.pages.n}});
    }
    return array;
}

}  // namespace

ordered_json readers_json(const core::ReaderValues &values, const core::PageSize &page_size) {
    const auto in_kb = [&](const std::optional<Pages> &pages) {
        return pages ? ordered_json(page_size.kb(*pages).n) : ordered_json(nullptr);
    };
    ordered_json status;
    status["rss_kb"] = number(values.status_rss);
    for (const core::Member member : core::kMembersInText)
        status[std::string(core::name(member)) + "_kb"] = number(values.status(member));
    status["hwm_kb"] = number(values.status_hwm);
    return {{"stat", {{"rss_kb", in_kb(values.stat)}}},
            {"statm", {{"rss_kb", in_kb(values.statm)}}},
            {"status", std::move(status)}};
}

ordered_json walked_json(const std::optional<core::Walk> &walk, std::int64_t age_ms) {
    if (!walk) return nullptr;
    return {{"file", core::name(walk->file)}, {"rss_kb", walk->rss.n},    {"pss_kb", walk->pss.n},
            {"swap_kb", walk->swap.n},        {"walk_us", walk->took_us}, {"age_ms", age_ms}};
}

void put_reading(ordered_json &object, const ProcessReading &process, const core::ReadingFigures &figures,
                 const core::PageSize &page_size) {
    object["pid"] = process.pid;
    object["host_pid"] = or_null(process.host_pid);
    object["start_ticks"] = process.start_ticks;
    object["uid"] = process.uid;
    object["comm"] = core::printable(process.comm);
    object["threads_count"] = process.threads_count;
    object["mm"] = {{"id", process.mm_id}, {"tasks", figures.mm_tasks}, {"pids", process.mm_pids}};
    object["readers"] = readers_json(figures.readers, page_size);
    object["walk"] = core::name(figures.walk_state);
    object["walked"] = walked_json(figures.walk, process.walk_age_ms);
    object["flushed"] = members(figures.flushed);
    object["cached"] = members(figures.cached);
    object["exact"] = members(figures.exact);
    object["bound"] = bound(figures.bound);
    object["lag"] = number(figures.lag);
    object["behind"] = number(figures.behind);
    object["window"] = {
        {"min", figures.window.min.n}, {"max", figures.window.max.n}, {"updates", or_null(figures.window_updates)}};
    object["residual"] = number(figures.residual);
    object["residual_causes"] = causes(figures.causes);
    object["verdict"] = core::name(figures.verdict);
}

}  // namespace rsslag::documents
