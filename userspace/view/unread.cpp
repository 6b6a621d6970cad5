// SPDX-License-Identifier: BSD-2-Clause
#include "unread.h"

#include <fmt/format.h>

#include <iterator>

#include "rsslag/core/text.h"
#include "rsslag/view/maps.h"
#include "text_parts.h"

namespace rsslag::view {

using nlohmann::ordered_json;

core::Kilobytes rss_of(const procfs::StatusFile &status) {
    if (!status.rss_anon) return procfs::or_zero(status.vm_rss);
    return *status.rss_anon + procfs::or_zero(status.rss_file) + procfs::or_zero(status.rss_shmem);
}

ordered_json status_json(const std::optional<procfs::StatusFile> &status) {
    if (!status) return nullptr;
    const auto kb = [](const std::optional<core::Kilobytes> &value) {
        return value ? ordered_json(value->n) : ordered_json(nullptr);
    };
    return {{"comm", core::printable(status->name)}, {"uid", status->real_uid},
            {"threads_count", status->threads},      {"virtual_kb", kb(status->vm_size)},
            {"rss_kb", rss_of(*status).n},           {"anon_kb", kb(status->rss_anon)},
            {"file_kb", kb(status->rss_file)},       {"shmem_kb", kb(status->rss_shmem)},
            {"swap_kb", kb(status->vm_swap)}};
}

ordered_json status_shows_json(const std::optional<core::Truth> &truth) {
    return truth ? ordered_json(core::name(*truth)) : ordered_json(nullptr);
}

std::string_view status_shows(const std::optional<core::Truth> &truth) {
    switch (truth.value_or(core::Truth::Unknown)) {
        case core::Truth::Exact: return "exact on this kernel";
        case core::Truth::Flushed: return "flushed counters only, which lag on this kernel";
        case core::Truth::Unknown: break;
    }
    return "which may lag on this kernel";
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
    row("anon", status.rss_anon);
    row("file", status.rss_file);
    row("shmem", status.rss_shmem);
    row("rss", rss_of(status));
    if (procfs::or_zero(status.hugetlb).n > 0) row("hugetlb", status.hugetlb);
    row("swap", status.vm_swap);
    return text + "\nIts mappings are not seen: " + process.reason + "\n";
}

}  // namespace rsslag::view
