// SPDX-License-Identifier: BSD-2-Clause
#include "stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/extreme_text.h"
#include "core/json.h"
#include "core/text.h"

namespace rsslag::report {
namespace {

using nlohmann::ordered_json;
using profile::Flow;
using profile::Profile;
using profile::StackSum;

/// How many of the samples have a stack that reaches the start of its thread. A program that ends by an exit or an exec
/// gives up its stack with its other memory, so samples of that time have no more than its registers.
std::string whole_stacks(const Profile &profile) {
    std::uint64_t whole = 0, all = 0, of_exits = 0;
    for (const profile::StackFlow &each : profile.flows) {
        const core::StackEnd end = profile.stacks[each.stack].end;
        const bool ends = each.reason == profile::Reason::Exit || each.reason == profile::Reason::Exec;
        (ends && end == core::StackEnd::NoCopy ? of_exits : all) += each.flow.samples;
        if (end == core::StackEnd::Outermost) whole += each.flow.samples;
    }
    if (whole == all) return "";
    return fmt::format("; {:.1f} % of the stacks are whole{}",
                       100.0 * static_cast<double>(whole) / static_cast<double>(all),
                       of_exits == 0 ? "" : fmt::format(", not counting {} of exits and execs", of_exits));
}

ordered_json text_or_null(std::string_view raw) {
    return raw.empty() ? ordered_json(nullptr) : ordered_json(core::printable(raw));
}

ordered_json frame_json(const core::StackFrame &frame) {
    const std::string build_id = core::hex(frame.build_id);
    return {{"function", text_or_null(frame.function)},
            {"file", text_or_null(frame.source)},
            {"line", frame.line == 0 ? ordered_json(nullptr) : ordered_json(frame.line)},
            {"module", text_or_null(frame.file)},
            {"build_id", text_or_null(build_id)},
            {"offset", fmt::format("{:#x}", frame.address)},
            {"inlined", frame.inlined}};
}

ordered_json row_json(const StackSum &sum, const core::CallStack *stack, const Profile &profile) {
    ordered_json row{{"came", sum.flow.came},
                     {"went", sum.flow.went},
                     {"net", sum.flow.net()},
                     {"resident", nullptr},
                     {"resident_min", sum.flow.resident},
                     {"samples", sum.flow.samples},
                     {"threads", ordered_json::array()},
                     {"reason", nullptr},
                     {"end", nullptr}};
    if (sum.flow.unknown == 0) row["resident"] = sum.flow.resident;
    for (const int tid : sum.tids)
        row["threads"].push_back(core::json::id(tid));
    ordered_json frames = ordered_json::array(), kernel = ordered_json::array();
    if (stack != nullptr) {
        row["reason"] = profile::name(sum.reason);
        row["end"] = profile::name(stack->end);
        for (const std::uint32_t number : stack->frames)
            frames.push_back(frame_json(profile.frames[number]));
        for (const std::uint32_t number : stack->kernel)
            kernel.push_back(frame_json(profile.frames[number]));
    }
    row["frames"] = std::move(frames);
    row["kernel"] = std::move(kernel);
    return row;
}

}  // namespace

std::string stacks_text(const Profile &profile, profile::By by, std::size_t most, const core::PageSize &page_size,
                        const ReportStyle &style) {
    if (profile.period == 0) return "the recording has no stacks; record it with rsslag record --stacks\n";
    std::string text = fmt::format("{} samples, one in {} pages, scaled to the amounts in the records", profile.samples,
                                   profile.period);
    if (profile.lost > 0) text += fmt::format("; {} more were lost", profile.lost);
    if (profile.lossy) text += "; records were lost: any amount marked ~ may be higher or lower";
    if (profile.unmatched > 0) text += fmt::format("; {} belong to updates of unknown amount", profile.unmatched);
    text += whole_stacks(profile);
    if (!profile.walked) text += "; residency was not checked";
    constexpr std::array<std::string_view, 6> kHeadings{"FUNCTION", "FILE",   "MODULE",
                                                        "THREAD",   "REASON", "KERNEL FUNCTION"};
    const std::string mark(core::approximate_mark(profile.lossy));
    const auto parts_of = [&](std::int64_t pages) {
        const std::string amount = style.pages({pages}, page_size);
        const std::size_t space = amount.find(' ');
        return std::pair(amount.substr(0, space), amount.substr(space + 1));
    };
    const auto column = [&parts_of](std::int64_t pages) { return parts_of(pages).first; };
    const std::string unit = parts_of(0).second;
    const std::size_t width = 10 + unit.size();
    const auto line = [width](const std::array<std::string, 5> &amounts, const std::string &samples,
                              std::string_view name) {
        std::string all;
        for (const std::string &amount : amounts)
            all += fmt::format("{:>{}}", amount, width);
        return fmt::format("{}{:>9}  {}\n", all, samples, name);
    };
    text += "\n\n" + line({mark + "CAME " + unit, mark + "WENT " + unit, mark + "NET " + unit, "RESIDENT " + unit,
                           mark + "SELF " + unit},
                          "SAMPLES", kHeadings[static_cast<std::size_t>(by)]);
    const std::vector<profile::Line> all = profile::lines(profile, by);
    const std::size_t shown = std::min(most, all.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const profile::Flow &flow = all[i].all;
        text += line({column(flow.came), column(flow.went), column(flow.net()),
                      profile::resident_text(flow, column(flow.resident), style.utf8), column(all[i].self.came)},
                     fmt::to_string(flow.samples), core::printable(all[i].name, style.utf8));
    }
    return shown < all.size() ? text + fmt::format("and {} more\n", all.size() - shown) : text;
}

void put_stacks_json(exporters::Pieces &out, const Profile &profile) {
    if (profile.period == 0) return out.put(R"("sampling":null,"stacks":null)");
    const ordered_json sampling{{"period", profile.period},
                                {"samples", profile.samples},
                                {"lost", profile.lost},
                                {"approximate", profile.lossy},
                                {"unmatched", profile.unmatched}};
    out.put(fmt::format(R"("sampling":{},"stacks":[)", sampling.dump()));
    const std::vector<StackSum> sums = profile::by_stack(profile);
    out.put_list(sums,
                 [&profile](const StackSum &sum) { return row_json(sum, &profile.stacks[sum.stack], profile).dump(); });
    if (const StackSum rest = profile::unexplained(profile); rest.flow.size() > 0)
        out.put((sums.empty() ? "" : ",") + row_json(rest, nullptr, profile).dump());
    out.put("]");
}

}  // namespace rsslag::report
