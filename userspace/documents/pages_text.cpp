// SPDX-License-Identifier: BSD-2-Clause
#include "pages_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/text.h"
#include "json_parts.h"

namespace rsslag::documents {
namespace {

using core::Pages;
using nlohmann::ordered_json;
using procfs::PageCounts;
using Out = std::back_insert_iterator<std::string>;

ordered_json histogram(const PageCounts &counts) {
    if (!counts.pss_scaled) return nullptr;
    ordered_json array = ordered_json::array();
    for (const auto &[mapped, pages] : counts.mapped)
        array.push_back({{"mapped", mapped}, {"pages", pages.n}});
    return array;
}

void put_counts(ordered_json &object, const PageCounts &counts) {
    object["present"] = counts.present.n;
    object["exclusive"] = counts.exclusive.n;
    object["shared"] = counts.shared.n;
    object["swapped"] = counts.swapped.n;
    object["huge"] = number(counts.huge);
    object["large"] = number(counts.large);
    object["ksm"] = number(counts.ksm);
    object["zero"] = number(counts.zero);
    object["apart"] = counts.apart.n;
    object["pss_exact_kb"] = counts.pss() ? ordered_json(counts.pss()->n) : ordered_json(nullptr);
    object["histogram"] = histogram(counts);
}

std::string count(const std::optional<Pages> &pages) {
    return pages ? core::with_thousands(pages->n) : "?";
}

/// "2x 12, 3x 40, 5-8x 7": 12 pages are mapped twice, 40 three times, and so on.
std::string shares(const PageCounts &counts) {
    constexpr std::uint64_t kAlone = 4;
    std::map<std::uint64_t, std::pair<std::uint64_t, Pages>> buckets;  // from → to, pages
    for (const auto &[mapped, pages] : counts.mapped) {
        std::uint64_t from = mapped;
        std::uint64_t to = mapped;
        if (mapped > kAlone) {
            for (from = kAlone + 1, to = 2 * kAlone; mapped > to;) {
                from = to + 1;
                to *= 2;
            }
        }
        auto &bucket = buckets[from];
        bucket.first = to;
        bucket.second += pages;
    }
    std::string text;
    for (const auto &[from, bucket] : buckets) {
        const std::string times =
            from == bucket.first ? fmt::format("{}x", from) : fmt::format("{}-{}x", from, bucket.first);
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", times, core::with_thousands(bucket.second.n));
    }
    return text;
}

void append_counts(Out out, const PageCounts &counts) {
    fmt::format_to(out, "{:>12}{:>12}{:>12}{:>10}{:>10}{:>10}{:>9}{:>9}{:>9}{:>12}", count(counts.present),
                   count(counts.exclusive), count(counts.shared), count(counts.swapped), count(counts.huge),
                   count(counts.large), count(counts.ksm), count(counts.zero), count(counts.apart),
                   counts.pss() ? core::with_thousands(counts.pss()->n) : "?");
}

bool is_empty(const PageCounts &counts) {
    return counts.present.n == 0 && counts.swapped.n == 0 && counts.apart.n == 0 &&
           counts.zero.value_or(Pages{}).n == 0;
}

}  // namespace

ordered_json pages_json(const PagesReport &report) {
    ordered_json object;
    object["source"] = report.scans ? "pagemap_scan" : "pagemap";
    object["frames"] = report.why_no_frames.empty();
    object["why_no_frames"] =
        report.why_no_frames.empty() ? ordered_json(nullptr) : ordered_json(core::harmless(report.why_no_frames));
    object["entries_read"] = report.entries_read;
    object["took_us"] = report.took_us;
    object["omitted"] = ordered_json::array();
    for (const PagesOmission &omission : report.omitted) {
        object["omitted"].push_back({{"name", core::harmless(omission.name)},
                                     {"start", fmt::format("{:x}", omission.start)},
                                     {"reason", omission.reason}});
    }
    object["rows"] = ordered_json::array();
    for (const PagesRow &row : report.rows) {
        ordered_json each = {{"start", fmt::format("{:x}", row.start)},
                             {"end", fmt::format("{:x}", row.end)},
                             {"name", core::harmless(row.name)},
                             {"rss_kb", row.rss.n},
                             {"pss_kb", row.pss.n}};
        put_counts(each, row.counts);
        each["agrees"] = row.agrees;
        object["rows"].push_back(std::move(each));
    }
    ordered_json total = ordered_json::object();
    core::Kilobytes rss;
    core::Kilobytes pss;
    for (const PagesRow &row : report.rows) {
        rss += row.rss;
        pss += row.pss;
    }
    total["rss_kb"] = rss.n;
    total["pss_kb"] = pss.n;
    put_counts(total, report.total());
    object["total"] = std::move(total);
    return object;
}

std::string pages_text(const PagesReport &report, const TextStyle &style) {
    std::string text;
    const Out out = std::back_inserter(text);
    fmt::format_to(out, "\n{:>12}{:>12}{:>12}{:>10}{:>10}{:>10}{:>9}{:>9}{:>9}{:>12}  {}\n", "PAGES", "EXCLUSIVE",
                   "SHARED", "SWAPPED", "HUGE", "LARGE", "KSM", "ZERO", "APART", "PSS kB",
                   "NAME, and how often shared pages are mapped");
    for (const PagesRow &row : report.rows) {
        if (is_empty(row.counts)) continue;
        append_counts(out, row.counts);
        const std::string mapped = shares(row.counts);
        fmt::format_to(out, "  {}{}{}{}\n", row.agrees ? "" : "~ ",
                       row.name.empty() ? "(anonymous)" : core::harmless(row.name, style.utf8),
                       mapped.empty() ? "" : "  ", mapped);
    }
    const PageCounts total = report.total();
    append_counts(out, total);
    fmt::format_to(out, "  sum: exclusive + shared = pages = Rss\n");
    fmt::format_to(out,
                   "HUGE: mapped by huge entries (smaps). LARGE: of folios of more than a page (kpageflags).\n"
                   "APART: present, but in no counter: hugetlb pages, and memory of devices and the kernel.\n");
    fmt::format_to(out, "{} entries by {} in {} us\n",
                   core::with_thousands(static_cast<std::int64_t>(report.entries_read)),
                   report.scans ? "PAGEMAP_SCAN and pagemap" : "pagemap", report.took_us);
    if (!report.why_no_frames.empty()) {
        fmt::format_to(
            out,
            "Not known here: how often pages are shared, large folios, KSM{}, and Pss page by page ({}). Known: "
            "present, swapped, exclusive, huge{}.\n",
            report.scans ? "" : ", zero pages", core::harmless(report.why_no_frames, style.utf8),
            report.scans ? ", zero" : "");
    }
    std::map<std::string, std::size_t> reasons;
    for (const PagesOmission &omission : report.omitted)
        ++reasons[omission.reason];
    for (const auto &[reason, mappings] : reasons)
        fmt::format_to(out, "omitted: {} mapping{}: {}\n", mappings, mappings == 1 ? "" : "s", reason);
    return text;
}

ordered_json elf_json(const ElfReport &report) {
    const auto parts = [](const std::vector<procfs::ElfPresence> &all) {
        ordered_json array = ordered_json::array();
        for (const procfs::ElfPresence &each : all) {
            array.push_back({{"name", core::harmless(each.part.name)},
                             {"address", fmt::format("{:x}", each.part.address)},
                             {"size", each.part.size},
                             {"pages", each.pages.n},
                             {"resident", each.resident.n},
                             {"shared", each.shared.n},
                             {"written", each.written.n}});
        }
        return array;
    };
    return {{"file", core::harmless(report.file)},
            {"sections", parts(report.sections)},
            {"symbols", parts(report.symbols)},
            {"symbols_left_out", report.symbols_left_out},
            {"reason", report.reason ? ordered_json(core::harmless(*report.reason)) : ordered_json(nullptr)}};
}

std::string elf_text(const ElfReport &report, const TextStyle &style) {
    std::string text;
    const Out out = std::back_inserter(text);
    fmt::format_to(out, "\n{}\n", core::harmless(report.file, style.utf8));
    if (report.reason) {
        fmt::format_to(out, "  {}\n", core::harmless(*report.reason, style.utf8));
        return text;
    }
    const auto table = [&](std::string_view title, const std::vector<procfs::ElfPresence> &rows, std::size_t most) {
        fmt::format_to(out, "{:>16}{:>12}{:>9}{:>10}{:>9}{:>9}  {}\n", "ADDRESS", "BYTES", "PAGES", "RESIDENT",
                       "SHARED", "WRITTEN", title);
        for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
            const procfs::ElfPresence &row = rows[i];
            fmt::format_to(out, "{:>16x}{:>12}{:>9}{:>10}{:>9}{:>9}  {}\n", row.part.address,
                           core::with_thousands(static_cast<std::int64_t>(row.part.size)), count(row.pages),
                           count(row.resident), count(row.shared), count(row.written),
                           core::harmless(row.part.name, style.utf8));
        }
    };
    constexpr std::size_t kSymbols = 40;
    table("SECTION", report.sections, report.sections.size());
    table("SYMBOL that overlaps resident pages, most written first", report.symbols, kSymbols);
    const std::size_t more =
        report.symbols.size() - std::min(kSymbols, report.symbols.size()) + report.symbols_left_out;
    if (more > 0) fmt::format_to(out, "  {} more symbols overlap resident pages (--json lists them)\n", more);
    return text;
}

}  // namespace rsslag::documents
