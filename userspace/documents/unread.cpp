// SPDX-License-Identifier: BSD-2-Clause
#include "unread.h"

#include <fmt/format.h>

#include <iterator>

#include "core/json.h"
#include "core/text.h"
#include "documents/maps.h"
#include "text_parts.h"

namespace rsslag::documents {

using nlohmann::ordered_json;

core::Kilobytes rss_of(const procfs::StatusFile &status) {
    if (!status.of(core::Member::Anon)) return procfs::or_zero(status.vm_rss);
    core::Kilobytes rss;
    for (const core::Member member : core::kRssMembers)
        rss += procfs::or_zero(status.of(member));
    return rss;
}

ordered_json status_json(const std::optional<procfs::StatusFile> &status) {
    if (!status) return nullptr;
    ordered_json object{{"comm", core::printable(status->name)},
                        {"uid", status->real_uid},
                        {"threads_count", status->threads},
                        {"virtual_kb", core::json::number(status->vm_size)},
                        {"rss_kb", rss_of(*status).n}};
    for (const core::Member member : core::kMembersInText)
        object[std::string(core::name(member)) + "_kb"] = core::json::number(status->of(member));
    return object;
}

ordered_json status_shows_json(const std::optional<core::Truth> &truth) {
    return truth ? ordered_json(core::name(*truth)) : ordered_json(nullptr);
}

std::string_view status_shows(const std::optional<core::Truth> &truth) {
    switch (truth.value_or(core::Truth::Unknown)) {
        case core::Truth::Exact: return "exact on this kernel";
        case core::Truth::Flushed: return "only flushed counters, which lag on this kernel";
        case core::Truth::Unknown: break;
    }
    return "not known to be exact on this kernel";
}

std::string unmapped_text(const MapsDocument &document, const memory::UnmappedProcess &process,
                          const TextStyle &style) {
    if (!process.status) return process.reason + "\n";
    const procfs::StatusFile &status = *process.status;
    const core::PageSize &page_size = document.machine.page_size;
    std::string text;
    const auto out = std::back_inserter(text);
    fmt::format_to(out, "{} [{}]  {} thread{}  Linux {}\nBY /proc/{}/status ALONE: {}\n\n",
                   core::printable(status.name, style.utf8), process.pid, status.threads,
                   status.threads == 1 ? "" : "s", core::printable(document.kernel, style.utf8), process.pid,
                   status_shows(document.status_shows));
    fmt::format_to(out, "{:<8}{:>13}\n", "STATUS", style.unit);
    const auto row = [&](std::string_view label, const std::optional<core::Kilobytes> &kb) {
        const std::string amount = kb ? column(page_size.pages(*kb), page_size, style) : "-";
        fmt::format_to(out, "{:<8}{}\n", label, right(amount, 13));
    };
    row("virtual", status.vm_size);
    for (const core::Member member : core::kRssMembersInText)
        row(core::name(member), status.of(member));
    row("rss", rss_of(status));
    if (procfs::or_zero(status.hugetlb).n > 0) row("hugetlb", status.hugetlb);
    for (const core::Member member : core::kOtherMembersInText)
        row(core::name(member), status.of(member));
    return text + "\nCannot read its mappings: " + process.reason + "\n";
}

}  // namespace rsslag::documents
